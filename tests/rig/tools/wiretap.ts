import { commandIn } from "../../../src/sandbox/namespace.ts";

/** Long enough for a frame that was sent before to be written down; it takes 5 ms where nothing else runs. */
const FLUSH_MS = 500;
/** Enough for what tells a frame from others. With whole frames, the capture's ring would have room for only a few. */
const BYTES = 512;

/** Writes down the frames of one interface that a filter in tcpdump's language (pcap-filter) picks. */
export class Wiretap {
  private constructor(
    private readonly child: Bun.Subprocess<"ignore", "pipe", "pipe">,
    private readonly lines: Promise<string>,
  ) {}

  static async start(namespace: string, link: string, filter: string): Promise<Wiretap> {
    const capture = [
      "tcpdump",
      "-i",
      link,
      "-n",
      "-l",
      "-t",
      "--immediate-mode",
      "-Z",
      "root",
      "-s",
      `${BYTES}`,
      filter,
    ];
    const child = Bun.spawn(commandIn(namespace, [...capture]), {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const tap = new Wiretap(child, child.stdout.text());
    await listening(child.stderr, link);
    return tap;
  }

  /** One line for each frame, in tcpdump's words. */
  async stop(): Promise<string[]> {
    await Bun.sleep(FLUSH_MS);
    this.child.kill("SIGINT");
    return (await this.lines).split("\n").filter((line) => line !== "");
  }
}

/** Returns once it listens, and goes on reading: a program whose notes nobody takes would end. */
function listening(notes: ReadableStream<Uint8Array>, link: string): Promise<void> {
  const ready = Promise.withResolvers<void>();
  void (async () => {
    let said = "";
    const decoder = new TextDecoder();
    for await (const chunk of notes) {
      said += decoder.decode(chunk, { stream: true });
      if (said.includes("listening on")) ready.resolve();
    }
    ready.reject(new Error(`tcpdump on ${link} ended: ${said}`));
  })();
  return ready.promise;
}
