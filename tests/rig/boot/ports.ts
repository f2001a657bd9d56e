import { afterAll, beforeAll, expect, test } from "bun:test";
import { UPLINK, VPN } from "../../../src/sandbox/topology.ts";
import { flash } from "./flashed-image.ts";
import { ask, claim, claimable, claimIt, EAGER, firstStart, leaksWithout, owner } from "./flashed-page.ts";
import { Phone } from "./phone.ts";
import {
  clean,
  closeStage,
  guest,
  image,
  lab,
  loggedIn,
  note,
  openStage,
  PATIENCE_MS,
  place,
  seconds,
} from "./stage.ts";

/** A device that gets all that it knows from DHCP. */
let laptop: Phone;

beforeAll(async () => {
  await openStage();
  laptop = await Phone.plugIn(lab);
  await plugInHome();
}, PATIENCE_MS);
afterAll(closeStage, PATIENCE_MS);

/** What two cables look like: which card is the home router's, and which is the laptop's. */
const ORDERS = [
  { uplink: "eth0", lan: "eth1", cables: ["wan0", "lan0"], address: UPLINK.gateway4 },
  { uplink: "eth1", lan: "eth0", cables: ["lan0", "wan0"], address: place.otherAddress },
] as const;

test(
  "without its kill switch, the same image leaks by the router's cable: the sniffer sees it",
  leaksWithout,
  PATIENCE_MS,
);

test.each(ORDERS)(
  "the router at $uplink, a laptop at $lan: it gets an address there, claims the gateway and is protected, and only DHCP leaves",
  async ({ uplink, lan, cables, address }) => {
    await guest.wire(...cables);
    const sniffer = await lab.sniff();
    await firstStart();
    await leased();
    note(`power-on to the laptop's address, at ${lan}`, seconds(guest.age));
    await claimable();
    note(`power-on to the page, for a laptop at ${lan}`, seconds(guest.age));
    expect(await sniffer.count()).toMatchObject({ leaks: [], mdns: 0, wireguard: 0 });
    expect(await named()).toContain(guest.address);
    // The router's side is outside.
    const outside = ["curl", "-sk", "-m", "3", `https://${address}/api/owner/claim`];
    expect((await lab.exec(lab.namespaces.router, outside)).stdout).toBe("");
    await claimIt();
    await protect();
    expect(await clean(sniffer, address)).toEqual([]);
    expect(await roles()).toEqual([
      `PORTCULLIS_LAN=${lan}`,
      `PORTCULLIS_UPLINK=${uplink}`,
      "PORTCULLIS_DHCP=on",
    ]);
  },
  PATIENCE_MS,
);

test(
  "once it is claimed, another DHCP server on the LAN and cables that change places change no role, also after a restart",
  async () => {
    const before = await roles();
    const [, { lan }] = ORDERS;
    const sniffer = await lab.sniff();
    await guest.powerOff();
    const rogue = await otherServer();
    try {
      guest.powerOn(undefined, EAGER);
      await guest.until("an alert", async () => {
        const { events = [] } = await ask("GET", "events").catch(() => ({}));
        return events.some(({ code }: { code?: string }) => code === "other_router");
      });
      expect(await roles()).toEqual(before);
    } finally {
      rogue.kill("SIGKILL");
      await rogue.exited;
    }
    await protectedAgain();
    // The laptop is at the uplink, and the router at the LAN: nothing works, and nothing opens.
    await guest.powerOff();
    await guest.wire("wan0", "lan0");
    guest.powerOn(undefined, EAGER);
    await guest.until("time for a change", async () => guest.age > WOULD_CHANGE_MS);
    expect(guest.has(`/etc/systemd/network/lan-${lan}.network`)).toBe(true);
    await guest.wire(...ORDERS[1].cables);
    await protectedAgain();
    expect(await roles()).toEqual(before);
    const { leaks } = await sniffer.stop();
    expect(leaks.filter((leak) => !OF_LAN.test(leak))).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "power that is cut while the roles change leaves a gateway that finds them again",
  async () => {
    const [{ cables, lan, uplink, address }] = [ORDERS[1]];
    await guest.powerOff();
    await flash(image);
    await guest.wire(...cables);
    const sniffer = await lab.sniff();
    for (const begun of [`/etc/systemd/network/lan-${lan}.network`, "/etc/portcullis-dhcp.conf"]) {
      guest.powerOn(undefined, EAGER);
      await guest.until(
        begun,
        async () => guest.has(begun) && !guest.has("/etc/portcullis/setup-version"),
        20,
      );
      note(`power cut at ${begun}`, seconds(guest.age));
      await guest.powerOff();
    }
    guest.powerOn(undefined, EAGER);
    await leased();
    await claimable();
    owner.token = "";
    await guest.until("the claim", async () => {
      await claimIt().catch(() => {});
      return (await claim()) === "over";
    });
    await protect();
    expect(await roles()).toEqual([
      `PORTCULLIS_LAN=${lan}`,
      `PORTCULLIS_UPLINK=${uplink}`,
      "PORTCULLIS_DHCP=on",
    ]);
    expect(await clean(sniffer, address)).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "both cables at the router: it works with one, says so, and stays so once it is claimed",
  async () => {
    await atHome();
    await guest.wire("wan0", "wan0");
    const sniffer = await lab.sniff();
    await firstStart();
    await claimable();
    note("power-on to the page, both cables at the router", seconds(guest.age));
    owner.token = "";
    await claimIt();
    const { events } = await ask("GET", "events");
    expect(events.filter(({ code }: { code?: string }) => code === "ports_alike")).toEqual([
      expect.objectContaining({ args: { ports: "eth0, eth1", uplink: "eth0" } }),
    ]);
    await guest.wire("wan0", "lan0");
    const age = guest.age;
    await guest.until("time for a change", async () => guest.age - age > WOULD_CHANGE_MS);
    expect(await roles()).toEqual(["PORTCULLIS_LAN=eth0", "PORTCULLIS_UPLINK=eth0"]);
    const { leaks } = await sniffer.stop();
    expect(leaks.filter((leak) => !OF_LAN.test(leak))).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "one cable at first, which serves the home; a second one before the claim makes it two, and only its laptop reaches the page",
  async () => {
    await atHome();
    await guest.wire("wan0", null);
    const sniffer = await lab.sniff();
    await firstStart();
    await claimable();
    note("power-on to the page, one cable of two ports", seconds(guest.age));
    await guest.wire("wan0", "lan0");
    const plugged = guest.age;
    await leased();
    await claimable();
    note("second cable to the page for its laptop", seconds(guest.age - plugged));
    const outside = ["curl", "-sk", "-m", "3", `https://${UPLINK.gateway4}/api/owner/claim`];
    expect((await lab.exec(lab.namespaces.router, outside)).stdout).toBe("");
    owner.token = "";
    await claimIt();
    await protect();
    const leaks = await clean(sniffer);
    expect(leaks.filter((leak) => !OF_LAN.test(leak))).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "an owner's change that gives the uplink no address goes back by itself, as one does whose power is cut; one that works stays, and nothing leaves",
  async () => {
    const [{ cables, lan, uplink }] = ORDERS;
    const [one, two] = [
      { uplink, lan: [uplink] },
      { uplink, lan: [lan] },
    ];
    const crossed = { uplink: lan, lan: [uplink] };
    await guest.powerOff();
    owner.token = "";
    await guest.wire(...cables);
    const sniffer = await lab.sniff();
    await firstStart();
    await leased();
    await claimable();
    await claimIt();
    await protect();
    const before = await roles();
    const preview = await ask("PUT", "owner/ports", { ...crossed, preview: true });
    expect(preview).toMatchObject({ before: { ...two, dhcp: true }, after: { ...crossed, dhcp: true } });
    expect(await ask("GET", "owner/ports")).toMatchObject({ ...two, changing: false, failed: null });
    const begin = async () => {
      expect(await ask("PUT", "owner/ports", crossed)).toEqual({ ...preview });
      await guest.until("a change", async () => !guest.has(networkOf(lan)));
      return guest.age;
    };
    const begun = await begin();
    await guest.until("the former roles", async () => isSettled());
    note("a change without an address at the uplink, until it is back", seconds(guest.age - begun));
    await protectedAgain();
    expect(await ask("GET", "owner/ports")).toMatchObject({
      ...{ ...two, dhcp: true, changing: false, failed: `an address for ${lan} did not come` },
    });
    expect(await roles()).toEqual(before);
    await begin();
    await guest.powerOff();
    guest.powerOn(undefined, EAGER);
    await protectedAgain();
    expect([await roles(), isSettled()]).toEqual([before, true]);
    expect(await ask("PUT", "owner/ports", one)).toMatchObject({ after: { ...one, dhcp: false } });
    [guest.address, guest.seat] = [UPLINK.gateway4, `${lab.sandbox.id}-home`];
    await known(one);
    // The settings and the kill switch have the new roles by then.
    await ask("PUT", "owner/ports", two);
    await guest.until("the DHCP server", async () => guest.has("/etc/portcullis-dhcp.conf"), 20);
    expect(isSettled()).toBe(false);
    await guest.powerOff();
    guest.powerOn(undefined, EAGER);
    await known(one);
    await ask("PUT", "owner/ports", two);
    await guest.until("a change", async () => guest.has(networkOf(lan)));
    await guest.until("its end", async () => isSettled());
    await leased();
    await protectedAgain();
    expect(await roles()).toEqual(before);
    const { leaks } = await sniffer.stop();
    expect(leaks.filter((leak) => !OF_LAN.test(leak))).toEqual([]);
  },
  PATIENCE_MS,
);

const networkOf = (port: string) => `/etc/systemd/network/lan-${port}.network`;

/** Whether no change of the roles is half done. */
function isSettled(): boolean {
  return guest.has("/etc/portcullis/setup-version") && !guest.has("/etc/portcullis/ports-before");
}

/** Returns once the page says that the ports have these roles. */
async function known(wanted: { uplink: string; lan: string[] }): Promise<void> {
  await guest.until("other roles", async () => {
    const { uplink, lan, changing } = await ask("GET", "owner/ports").catch(() => ({}));
    return changing === false && Bun.deepEquals({ uplink, lan }, wanted);
  });
}

/** The finder changes roles 40 s after it has seen why, and looks every 10 s. */
const WOULD_CHANGE_MS = 75_000;

/** With one cable the home router is a host of the LAN: it is asked for its name, and hears the gateway's. */
const OF_LAN =
  /^192\.168\.\d+\.\d+ > 224\.0\.0\.251 UDP 5353 > 5353,|^192\.168\.88\.\d+ > 192\.168\.88\.1 (UDP \d+ > 5353,|ICMP type 3 code 3$)/;

/** The person sits at the laptop, which has got an address, and goes to its router's. */
async function leased(): Promise<void> {
  await laptop.turnOn();
  await guest.until("a lease", async () => laptop.lease !== "");
  const [, router = ""] = / router (\S+) /.exec(laptop.lease) ?? [];
  expect(router).toMatch(/^192\.168\.73\.1$/);
  guest.address = router;
  guest.seat = laptop.namespace;
}

/** The person sits at a device of the home router's network, while the gateway is off. */
async function atHome(): Promise<void> {
  await guest.powerOff();
  guest.address = UPLINK.gateway4;
  guest.seat = `${lab.sandbox.id}-home`;
}

/** A device at the home router's switch. It is gone with the lab. */
async function plugInHome(): Promise<void> {
  const home = `${lab.sandbox.id}-home`;
  const lines = [
    `netns add ${home}`,
    `-n ${lab.namespaces.switch} link add home type veth peer lan0 netns ${home}`,
    `-n ${lab.namespaces.switch} link set home master switch up`,
    `-n ${home} link set lan0 up`,
    `-n ${home} address add 192.168.88.50/24 dev lan0`,
  ];
  for (const line of lines) {
    const { code, stderr } = await lab.outside(["ip", ...line.split(" ")]);
    if (code !== 0) throw new Error(`${line}: ${stderr}`);
  }
}

/** Another DHCP server at the laptop's cable, which says that it is the router. */
async function otherServer(): Promise<Bun.Subprocess> {
  const { client } = lab.namespaces;
  await lab.exec(client, ["ip", "address", "add", "192.168.99.1/24", "dev", "lan0"]);
  const options = [
    ...["--no-daemon", "--conf-file=/dev/null", "--port=0", "--interface=lan0", "--bind-interfaces"],
    ...["--dhcp-range=192.168.99.10,192.168.99.20,2m", "--leasefile-ro"],
  ];
  return Bun.spawn(["ip", "netns", "exec", client, "dnsmasq", ...options], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
}

/** Imports a server, connects, and returns once the laptop is seen from it. */
async function protect(): Promise<void> {
  const [{ customBody }] = lab.sandbox.servers;
  expect(await laptop.page(4)).toBe(null);
  expect(await ask("POST", "custom/add", customBody)).toEqual({ success: true });
  expect(await ask("POST", "provider/custom", {})).toMatchObject({ success: true });
  await guest.until("the tunnel", async () =>
    Bun.deepEquals(await ask("POST", "connect", { server: customBody.name }), { success: true }),
  );
  await protectedAgain();
}

async function protectedAgain(): Promise<void> {
  await laptop.turnOn();
  await guest.until("a lease", async () => laptop.lease !== "");
  await guest.until("the laptop's page", async () => (await laptop.page(4)) !== null);
  expect(await laptop.page(4)).toBe(VPN.vpn1.v4);
}

/** The settings that say so. */
async function roles(): Promise<string[]> {
  await loggedIn();
  const text = await guest.shell("grep -E '^PORTCULLIS_(LAN|UPLINK|DHCP)=' /etc/portcullis/portcullis.env");
  return text.trim().split("\n");
}

/** Which addresses portcullis.local has, for a device that asks by multicast. */
async function named(): Promise<string> {
  const script = `
    import { createSocket } from "node:dgram";
    import { decode, encode } from "dns-packet";
    const socket = createSocket("udp4");
    socket.on("message", (data) => {
      console.log(JSON.stringify(decode(data).answers));
      process.exit(0);
    });
    const query = encode({ type: "query", id: 1, questions: [{ type: "A", name: "portcullis.local" }] });
    const send = () => socket.send(query, 5353, "224.0.0.251");
    setInterval(send, 1000);
    setTimeout(() => process.exit(1), 20000);
    send();
  `;
  return (await lab.exec(guest.seat, [process.execPath, "-e", script])).stdout;
}
