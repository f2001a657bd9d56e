import { LAN, type NetworkCards, ROUTER, UPLINK } from "../../../src/sandbox/topology.ts";

/** A kind of machine that people have. */
export interface Variant {
  release: Release;
  network: "ifupdown" | "networkmanager" | "networkd";
  cables: NetworkCards;
  arch: "amd64" | "arm64";
  /** The gateway serves DHCP on the LAN. */
  dhcp: boolean;
  /** The gateway comes from a Debian package. */
  package: boolean;
  /** The machine starts from the image of `scripts/image`; null for a Debian that the test makes. */
  image: "pc" | "pi" | null;
  /** The image's Debian runs in namespaces, by the kernel of this machine, and not in QEMU. */
  contained: boolean;
  /** At how many moments of its first start the power is cut. */
  cuts: number;
}

/** Of Debian: 12 and 13. */
export type Release = "bookworm" | "trixie";

/** A network card as the machine's settings have it. */
export interface Card {
  name: "eth0" | "eth1";
  /** With its length; null gets one from DHCP. */
  v4: string | null;
  /** The router and resolver for IPv4, if DHCP does not name it. */
  router4: string | null;
  v6: string;
  /** The router that IPv6 goes to, if it goes there by this card. */
  router6: string | null;
}

/** The machine's place at home; `eth0` leads to the home router. */
export interface Place {
  cards: readonly Card[];
  /** What `install` is told. */
  flags: string;
  /** What DHCP gives to `eth0`, and what it gives later. */
  address: string;
  otherAddress: string;
}

const PLACES: Record<NetworkCards, Place> = {
  1: {
    cards: [{ name: "eth0", v4: null, router4: null, v6: `${LAN.gateway6}/64`, router6: ROUTER.lan[1].v6 }],
    // With one cable there is nothing to choose.
    flags: "",
    address: LAN.gateway4,
    otherAddress: "192.168.77.2",
  },
  2: {
    cards: [
      { name: "eth0", v4: null, router4: null, v6: `${UPLINK.gateway6}/64`, router6: ROUTER.lan[2].v6 },
      {
        name: "eth1",
        v4: `${LAN.gateway4}/24`,
        router4: null,
        v6: `${LAN.gateway6}/64`,
        router6: null,
      },
    ],
    flags: "--lan eth1",
    address: UPLINK.gateway4,
    otherAddress: "192.168.88.3",
  },
};

/** A LAN's DHCP server has a fixed address there. */
const SERVING: Record<NetworkCards, Place> = {
  1: {
    ...PLACES[1],
    cards: PLACES[1].cards.map((card) => ({
      ...card,
      v4: `${LAN.gateway4}/24`,
      router4: ROUTER.lan[1].v4,
    })),
    flags: "--dhcp",
  },
  2: { ...PLACES[2], flags: `${PLACES[2].flags} --dhcp` },
};

export function placeOf({ cables, dhcp }: Pick<Variant, "cables" | "dhcp">): Place {
  return (dhcp ? SERVING : PLACES)[cables];
}

/** The variant that `scripts/boot-test` was told. */
export function variantToTest(): Variant {
  const told = JSON.parse(process.env.BOOT_TEST_VARIANT ?? "{}");
  const usual: Variant = {
    release: "bookworm",
    network: "ifupdown",
    cables: 2,
    arch: "amd64",
    dhcp: false,
    package: false,
    image: null,
    contained: false,
    cuts: 3,
  };
  return { ...usual, ...told };
}

export function titleOf(variant: Variant): string {
  const { release, network, cables, arch, dhcp, package: packaged, image, contained } = variant;
  if (image !== null) return `the image ${image}${contained ? ", by the kernel of this machine" : ""}`;
  const extras = `${dhcp ? ", DHCP" : ""}${packaged ? ", from the package" : ""}`;
  return `${release}, ${network}, ${cables === 1 ? "one cable" : "two cables"}, ${arch}${extras}`;
}
