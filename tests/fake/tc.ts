import type { FakeLink } from "./link.ts";
import { fail, unknown } from "./refusal.ts";

interface Queue {
  kind: string;
  handle: string;
  options: { bandwidth?: number; diffserv?: string; nat?: boolean; flowmode?: string };
  /** As it was set. */
  words: string;
}

const KERNELS: Queue = { kind: "noqueue", handle: "0:", options: {}, words: "" };

/** What `tc` does: the queue of each link. As in the real kernel a link takes its queue with it. */
export class Tc {
  /** False for a kernel without the module sch_cake. */
  hasCake = true;
  private readonly queues = new Map<FakeLink, Queue>();

  constructor(private readonly links: ReadonlyMap<string, FakeLink>) {}

  /** The words by which the queue of a link was set; empty if it is the kernel's. */
  wordsOf(dev: string): string {
    const link = this.links.get(dev);
    return (link && this.queues.get(link)?.words) ?? "";
  }

  run(command: string, stdin: string): string {
    if (command === "tc -j qdisc show") return JSON.stringify([...this.links].map(shown(this.queues)));
    if (command !== "tc -batch -") return unknown(command);
    for (const line of stdin.trimEnd().split("\n")) this.change(line);
    return "";
  }

  private change(line: string): void {
    const [, verb, dev = "", handle, words = ""] =
      /^qdisc (replace|delete) dev (\S+) root(?: handle (\S+) cake (.+))?$/.exec(line) ?? unknown(line);
    const link = this.links.get(dev) ?? fail(`Cannot find device "${dev}"`);
    if (verb === "delete") {
      if (!this.queues.delete(link)) fail("Error: Cannot delete qdisc with handle of zero.");
      return;
    }
    if (!this.hasCake) fail("Error: Specified qdisc kind is unknown.");
    const [, bytes, diffserv = "", nat, flowmode = ""] =
      /^bandwidth (\d+)bps (\S+)( nat)? (\S+)$/.exec(words) ?? unknown(line);
    const options = { bandwidth: Number(bytes), diffserv, flowmode, nat: nat !== undefined };
    this.queues.set(link, { kind: "cake", handle: handle ?? "", options, words });
  }

  /** Another program changes the queue of a link, or removes it. */
  alter(dev: string, options: Queue["options"] | null): void {
    const link = this.links.get(dev);
    const queue = link && this.queues.get(link);
    if (link === undefined || queue === undefined) fail(`${dev} has no queue`);
    if (options === null) this.queues.delete(link);
    else this.queues.set(link, { ...queue, options: { ...queue.options, ...options }, words: "altered" });
  }

  /** Another program sets the queue of a link. */
  take(dev: string, kind: string, handle: string): void {
    const link = this.links.get(dev);
    if (link !== undefined) this.queues.set(link, { kind, handle, options: {}, words: kind });
  }
}

function shown(queues: ReadonlyMap<FakeLink, Queue>) {
  return ([dev, link]: [string, FakeLink]) => {
    const { kind, handle, options } = queues.get(link) ?? KERNELS;
    return { kind, handle, dev, root: true, refcnt: 2, options };
  };
}
