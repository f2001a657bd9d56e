import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { GatewayError } from "../../src/base/errors.ts";
import type { Host } from "../../src/system/host.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { NamespaceHost } from "../namespace-host.ts";
import { until } from "../rig/tools/until.ts";
import { comparable } from "./comparable.ts";
import { FakeHost } from "./host.ts";

/** What the machine has: its LAN, and an uplink with a default route. */
const ADDRESSES = { lan0: ["192.168.7.1/24", "fe80::1/64"], up0: ["198.51.100.2/24"] };
export const ROUTER = "198.51.100.1";

/** The same machine twice, fake and real: a network namespace whose cables end in another one. */
export class Both {
  private constructor(
    readonly fake: FakeHost,
    readonly real: LinuxHost,
    /** Where the cables of the real one end. */
    private readonly ends: LinuxHost,
    /** A WireGuard interface's name that no other on this machine has: their sockets are in one folder. */
    readonly link: string,
  ) {}

  static async do(work: (both: Both) => Promise<void>): Promise<void> {
    const unique = `${process.pid.toString(36)}${Math.floor(Math.random() * 1e5).toString(36)}`;
    const [namespace, ends, link] = [`pcsame-${unique}`, `pcends-${unique}`, `pc${unique}`];
    const machine = new LinuxHost();
    const both = new Both(new FakeHost(), new NamespaceHost(namespace), new NamespaceHost(ends), link);
    try {
      await machine.run(["ip", "netns", "add", namespace]);
      await machine.run(["ip", "netns", "add", ends]);
      await both.connect(ends);
      await both.furnish();
      await work(both);
    } finally {
      await both.real.run(["ip", "link", "del", "dev", link]).catch(() => {});
      await both.ends.run(["ip", "link", "del", "dev", both.serverLink]).catch(() => {});
      for (const name of [namespace, ends]) await machine.run(["ip", "netns", "del", name]).catch(() => {});
      await until(() => !existsSync(socketOf(link)) && !existsSync(socketOf(both.serverLink)));
    }
  }

  /** Plays a command of the gateway's on both: what comes back is the same, or else both refuse. */
  async play(command: string, stdin?: string): Promise<"done" | "refused"> {
    const argv = command.split(" ");
    const options = stdin === undefined ? {} : { stdin };
    const [fake, real] = await Promise.all(
      [this.fake, this.real].map((host: Host) => outcomeOf(command, () => host.run(argv, options))),
    );
    expect({ command, stdin, ...fake }).toEqual({ command, stdin, ...real });
    return real === undefined || "refused" in real ? "refused" : "done";
  }

  /** Plays a request on the interface's socket. */
  async exchange(request: string): Promise<void> {
    const [fake, real] = await Promise.all(
      [this.fake, this.real].map((host) => host.exchange(socketOf(this.link), request)),
    );
    const [command = ""] = request.split("\n");
    const shown = (answer: string | null | undefined) => answer && comparable(command, answer);
    expect({ request, answer: shown(fake) }).toEqual({ request, answer: shown(real) });
  }

  /** What the gateway finds out by more than one command. */
  async ask<T>(question: (host: Host) => Promise<T>): Promise<T> {
    const [fake, real] = await Promise.all([question(this.fake), question(this.real)]);
    expect(fake).toEqual(real);
    return real;
  }

  /** Someone else changes both machines. */
  async meanwhile(fake: (host: FakeHost) => void, ...commands: readonly string[]): Promise<void> {
    fake(this.fake);
    for (const command of commands) await this.real.run(command.split(" "));
  }

  /** The uplink's cable is put in or pulled. */
  async plug(carrier: boolean): Promise<void> {
    this.fake.plug(carrier);
    await this.ends.run(["ip", "link", "set", "up0", carrier ? "up" : "down"]);
    // The kernel tells the routes of it within a second.
    const routes = () => this.real.run(["ip", "-j", "-4", "route", "show", "default"]);
    await until(async () => (await routes()).includes("linkdown") !== carrier);
  }

  /** A WireGuard server at the uplink's router, that knows this client. */
  async serve(privateKey: string, port: number, client: string): Promise<void> {
    const server = this.serverLink;
    const run = (command: string, stdin = "") => this.ends.run(command.split(" "), { stdin });
    await run(`wireguard-go ${server}`);
    const config = ["[Interface]", `PrivateKey = ${privateKey}`, `ListenPort = ${port}`, "[Peer]"];
    await run(`wg setconf ${server} /dev/stdin`, [...config, `PublicKey = ${client}`, ""].join("\n"));
    await run(`ip link set ${server} up`);
  }

  private get serverLink(): string {
    return `${this.link}s`;
  }

  private async connect(ends: string): Promise<void> {
    for (const name of Object.keys(ADDRESSES)) {
      const peer = ["peer", "name", name, "netns", ends];
      await this.real.run(["ip", "link", "add", name, "type", "veth", ...peer]);
      for (const host of [this.real, this.ends]) {
        await host.run(["ip", "link", "set", name, "addrgenmode", "none", "up"]);
      }
    }
  }

  private async furnish(): Promise<void> {
    const { fake, real } = this;
    await real.run(["ip", "link", "set", "lo", "up"]);
    for (const [name, addresses] of Object.entries(ADDRESSES)) {
      fake.links.get(name)?.addresses.push(...addresses);
      for (const address of addresses) await real.run(["ip", "address", "add", address, "dev", name]);
    }
    await this.ends.run(["ip", "address", "add", `${ROUTER}/24`, "dev", "up0"]);
    await real.run(["ip", "route", "add", "default", "via", ROUTER, "dev", "up0"]);
    // Whether this machine's kernel has WireGuard is nothing that the two could differ in.
    fake.native = await real.run(["ip", "link", "add", this.link, "type", "wireguard"]).then(
      () => true,
      () => false,
    );
    if (fake.native) await real.run(["ip", "link", "del", "dev", this.link]);
  }
}

function socketOf(link: string): string {
  return `/var/run/wireguard/${link}.sock`;
}

type Outcome = { answer: unknown } | { refused: string };

/** A refusal is a refusal: each kernel and program has words of its own for why. */
async function outcomeOf(command: string, run: () => Promise<string>): Promise<Outcome> {
  try {
    return { answer: comparable(command, await run()) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refused: error.code };
  }
}
