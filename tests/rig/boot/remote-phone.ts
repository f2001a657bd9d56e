import { expect } from "bun:test";
import { INTERNET, LAN, ROUTER } from "../../../src/sandbox/topology.ts";
import { Phone } from "../home/phone.ts";
import { TO_HOME_ROUTER } from "../peers/miniupnpd.ts";
import { Doorbell } from "../peers/visited-port.ts";
import { ENDPOINTS, type Lab } from "../tools/lab.ts";
import { Sniffer } from "../tools/sniffer.ts";

const PORT = 51_820;
/** At home, on the laptop. */
const BELL = 8_080;
/** An emulated machine answers late. */
const ANSWER_S = "10";

/** A remote phone, the computer that it calls at home, and a sniffer that knows WireGuard's answers to it. */
export class RemotePhone {
  private constructor(
    private readonly lab: Lab,
    readonly phone: Phone,
    private readonly bell: Doorbell,
    readonly sniffer: Sniffer,
  ) {}

  /** The home router's owner has entered the port for a gateway with this address. */
  static async open(lab: Lab, gateway: string): Promise<RemotePhone> {
    const rule = `iifname "wan0" udp dport ${PORT} dnat ip to ${gateway}`;
    const text = `table inet ports { chain in { type nat hook prerouting priority dstnat - 1\n${rule}\n}\n}\n`;
    expect(await lab.exec(lab.namespaces.router, ["nft", "-f", "-"], text)).toMatchObject({ code: 0 });
    const sniffer = await Sniffer.start(lab.namespaces.router, "lan0", {
      endpoints: [...ENDPOINTS, { address: gateway, port: PORT }],
      direction: "in",
    });
    const bell = await Doorbell.start(lab, lab.namespaces.client, BELL);
    return new RemotePhone(lab, await Phone.away(lab, 1), bell, sniffer);
  }

  /** What turns remote access on. */
  static readonly on = `portcullis remote on --endpoint ${ROUTER.public4} --port ${PORT}`;

  /** The computer at home answers. */
  async isHome(): Promise<boolean> {
    return (await this.page(`${LAN.client4}:${BELL}`)) === this.lab.namespaces.client;
  }

  /** How the internet sees the phone; empty if it does not. */
  seenAs(): Promise<string> {
    return this.page(`${INTERNET.host4}/ip`);
  }

  /** The gateway asks the home router for the port, which does not answer. */
  isAllowed(leak: string): boolean {
    return TO_HOME_ROUTER.test(leak);
  }

  async close(): Promise<void> {
    this.bell.stop();
    await this.phone.leaves();
    await this.lab.exec(this.lab.namespaces.router, ["nft", "delete", "table", "inet", "ports"]);
  }

  private async page(url: string): Promise<string> {
    return (await this.phone.run(["curl", "-sf", "-m", ANSWER_S, `http://${url}`])).stdout.trim();
  }
}
