import type { Host } from "../system/host.ts";
import { showLinks } from "../system/ip.ts";
import { explained } from "../system/modules.ts";
import { addconfText, type Changes, type InterfaceDump, uapiChanges } from "../wireguard/changes.ts";
import { type OwnEnd, ownInDump, ownInUapi } from "../wireguard/interface.ts";
import { refused } from "./refusals.ts";

/** Where userspace WireGuard programs listen, one socket per interface (wireguard.com/xplatform). */
const SOCKET_FOLDER = "/var/run/wireguard";
/** A userspace program ends 5 ms after its interface was deleted; on a busy machine it took 150 ms. */
const PROGRAM_ENDS_WITHIN_MS = 3_000;
const PROGRAM_POLL_MS = 10;
const BATCH = ["ip", "-batch", "-"];
/** wireguard-go would start itself once more to go into the background, which takes 5 ms. */
const IN_FOREGROUND = { WG_PROCESS_FOREGROUND: "1" };

/** A configuration in both formats; the second one is for `wg`, with its subcommand. */
export interface Configuration {
  uapi: string;
  wg: { command: "setconf" | "addconf"; text: string };
}

/** WireGuard interfaces, which the kernel provides, or a program if the kernel does not. */
export class Links {
  /** Whether this kernel supports WireGuard; null until the first attempt to create an interface. */
  native: boolean | null = null;

  constructor(
    private readonly host: Host,
    /** The program that provides WireGuard interfaces if the kernel does not. */
    private readonly userspace: string,
  ) {}

  /** Makes the interface, then applies these lines for `ip -batch`. */
  async create(link: string, lines: readonly string[]): Promise<void> {
    if (this.native) return this.batch([`link add dev ${link} type wireguard`, ...lines]);
    const made =
      this.native === null &&
      (await this.batch([`link add dev ${link} type wireguard`]).then(
        () => true,
        () => false,
      ));
    if (!made) await this.formerProgramEnds(link);
    const started = made ? Promise.resolve() : this.startProgram(link);
    await this.batchLater(started.then(() => lines));
    // Set only now, because the first attempt may have failed although the kernel supports WireGuard.
    this.native = made;
  }

  /** Removes an interface, with its routes and addresses; a userspace program ends with it. */
  async close(link: string): Promise<void> {
    if (await this.host.deleteLink?.(link)) return;
    try {
      await this.host.run(["ip", "link", "del", "dev", link]);
    } catch (error) {
      if ((await this.names()).includes(link)) throw error;
    }
  }

  /** Names of the interfaces that exist. */
  async names(): Promise<string[]> {
    return (await showLinks(this.host)).map((link) => link.ifname);
  }

  /** The interface's own end; null if it is not a WireGuard interface. */
  async own(link: string): Promise<OwnEnd | null> {
    const told = await this.read(link);
    if (told === null) return null;
    return "uapi" in told ? ownInUapi(told.uapi) : ownInDump(told.dump);
  }

  /** The state of the interface; null if there is none. */
  async read(link: string): Promise<InterfaceDump | null> {
    const uapi = await this.told(link);
    if (uapi !== null) return { uapi };
    if (this.native === false) return null;
    const dump = await this.host.run(["wg", "show", link, "dump"], { secret: true }).catch(() => null);
    return dump === null ? null : { dump };
  }

  async configure(link: string, { uapi, wg }: Configuration): Promise<void> {
    // Writing to the program's socket, as `wg` would, saves running `wg`.
    const answer = this.native ? null : await this.host.exchange(socketOf(link), uapi);
    if (answer?.trim() === "errno=0") return;
    if (answer !== null) {
      throw refused("config_refused", { link });
    }
    await this.host.run(["wg", wg.command, link, "/dev/stdin"], { stdin: wg.text, secret: true });
  }

  /** What is removed goes first, so that nothing is permitted for longer than necessary. */
  async change(link: string, changes: Changes): Promise<void> {
    const { removed } = changes;
    const isProgram = !this.native && (await this.answers(link));
    const wg = { command: "addconf", text: addconfText(changes) } as const;
    if (isProgram) return this.configure(link, { uapi: uapiChanges(changes), wg });
    const argv = ["wg", "set", link, ...removed.flatMap((key) => ["peer", key, "remove"])];
    if (removed.length > 0) await this.host.run(argv);
    if (wg.text !== "") await this.configure(link, { uapi: uapiChanges(changes), wg });
  }

  /** Whether an existing interface is a kernel WireGuard interface; null if the kernel does not say so. */
  async isNative(link: string): Promise<boolean> {
    if (this.native !== null) return this.native;
    const uevent = await this.host.read(`/sys/class/net/${link}/uevent`);
    if (uevent?.includes("DEVTYPE=wireguard\n") === true) this.native = true;
    return this.native === true;
  }

  async batch(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await this.host.run(BATCH, { stdin: textOf(lines) });
  }

  /** The same for lines that are still to come: the program is started meanwhile. */
  async batchLater(lines: Promise<readonly string[]>): Promise<void> {
    await this.host.run(BATCH, { stdin: lines.then(textOf) });
  }

  /** The program of an interface that was just deleted keeps the socket of that name for a moment. */
  private async formerProgramEnds(link: string): Promise<void> {
    const deadline = this.host.monotonic() + PROGRAM_ENDS_WITHIN_MS;
    while (await this.answers(link)) {
      if (this.host.monotonic() > deadline) break;
      await this.host.sleep(PROGRAM_POLL_MS);
    }
  }

  private async startProgram(link: string): Promise<void> {
    const isUp = () => this.answers(link);
    await this.host.startDaemon([this.userspace, link], IN_FOREGROUND, isUp).catch((error: unknown) => {
      throw explained(error);
    });
  }

  /** Whether a program provides the interface. */
  private async answers(link: string): Promise<boolean> {
    return (await this.told(link)) !== null;
  }

  private told(link: string): Promise<string | null> {
    return this.host.exchange(socketOf(link), "get=1\n\n");
  }
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

function socketOf(link: string): string {
  return `${SOCKET_FOLDER}/${link}.sock`;
}
