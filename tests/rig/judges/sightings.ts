import { commandIn } from "../../../src/sandbox/namespace.ts";
import type { Lab } from "../tools/lab.ts";
import { linesOf } from "../tools/lines.ts";
import { type Mark, marksIn } from "../tools/sender.ts";

/** The home router's cable. */
export const CLEAR = "clear";

/** A mark, and where it was seen: the server whose tunnel brought it, or in clear. */
export interface Sighting extends Mark {
  place: string;
}

/** All that one of these may be called in the lab: where they are, and by which address inside they know a customer. */
const SERVERS: Readonly<Record<string, string>> = {
  "vpn1 2": "box-vpn-1",
  "vpn2 2": "box-vpn-2",
  "vpn1 11": "custom-1",
  "vpn2 12": "custom-2",
  "vpn1 21": "import-1",
  "vpn2 22": "import-2",
};
/** Of a mark and what precedes it. */
const SNAPLEN_BYTES = 512;
/** KiB of kernel memory for frames that wait, so that a busy machine misses none. */
const BUFFER_KIB = 16_384;
/** Frames reach the reader in some 5 ms; when none came for this long, all have. */
const QUIET_MS = 300;

/** Every marked packet that comes out of a tunnel at a server, or to the home router in clear. */
export class Sightings {
  readonly all: Sighting[] = [];
  private latestAt = 0;
  private readonly children: Bun.Subprocess[] = [];

  static async start(lab: Lab): Promise<Sightings> {
    const { namespaces, serverInterfaces } = lab.sandbox;
    const sightings = new Sightings();
    await Promise.all([
      sightings.watch("vpn1", namespaces.vpn1, serverInterfaces.vpn1),
      sightings.watch("vpn2", namespaces.vpn2, serverInterfaces.vpn2),
      sightings.watch(CLEAR, namespaces.router, "lan0"),
    ]);
    return sightings;
  }

  /** All until now, which are forgotten. */
  take(): Sighting[] {
    return this.all.splice(0);
  }

  /** Waits for the frames under way. */
  async stop(): Promise<void> {
    const start = performance.now();
    while (performance.now() - Math.max(start, this.latestAt) < QUIET_MS) await Bun.sleep(10);
    for (const child of this.children) child.kill("SIGKILL");
  }

  private async watch(where: string, namespace: string, link: string): Promise<void> {
    const filter = "dst port 7 or dst port 53";
    const capture = ["-s", `${SNAPLEN_BYTES}`, "-B", `${BUFFER_KIB}`, "-Z", "root"];
    const options = ["-n", "-l", "-t", "-A", "--immediate-mode", ...capture];
    const child = Bun.spawn(commandIn(namespace, ["tcpdump", "-i", link, ...options, filter]), {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.children.push(child);
    void this.read(child.stdout, where);
    for await (const note of linesOf(child.stderr)) if (note.startsWith("listening on")) return;
    throw new Error(`tcpdump on ${link} ended`);
  }

  private async read(output: AsyncIterable<Uint8Array>, where: string): Promise<void> {
    let place = where;
    for await (const line of linesOf(output)) {
      const [, source] = /^IP6? (\S+)\.\d+ > /.exec(line) ?? [];
      if (source !== undefined) place = placeOf(where, source);
      const marks = marksIn(line);
      if (marks.length > 0) this.latestAt = performance.now();
      for (const mark of marks) this.all.push({ ...mark, place });
    }
  }
}

function placeOf(where: string, source: string): string {
  if (where === CLEAR) return where;
  const [, customer] = /^(?:10\.64\.0\.|fd64::)(\d+)$/.exec(source) ?? [];
  return SERVERS[`${where} ${customer}`] ?? `${where}, from ${source}`;
}
