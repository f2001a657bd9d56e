import net from "node:net";

/** The gateway serves ten requests a second to a client. */
const CLIENTS = 100;
/** What no question has seen by then has been repaired, even on a busy machine. */
const SEEN_WITHIN_MS = 500;
/** The gateway repairs once a second, if it has to do so again and again. */
const PAUSE_MS = 1_000;

/**
 * Run in the gateway's namespace, with its port and a number of rounds: flushes the ruleset while it asks for the
 * status. Prints for each round the milliseconds from the order to flush to the first answer that the kill switch is not
 * active, or null without such an answer. (Without its rules the table's policies would drop loopback, and the answer.)
 */
async function race(port: number, rounds: number): Promise<(number | null)[]> {
  const times: (number | null)[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const clients = await openClients(port);
    const isActive = askerOf(clients);
    const flush = flusher();
    await Bun.sleep(PAUSE_MS);
    while (!(await isActive())) await Bun.sleep(10);
    const orderedAt = flush();
    const elapsed = () => performance.now() - orderedAt;
    let seen: number | null = null;
    while (seen === null && elapsed() < SEEN_WITHIN_MS) {
      if (!(await isActive())) seen = elapsed();
      // At full speed it would exceed the limit of its clients.
      await Bun.sleep(1);
    }
    times.push(seen);
    for (const client of clients) client.close();
  }
  return times;
}

/** One question after the other, each of another client. */
function askerOf(clients: readonly Client[]): () => Promise<boolean> {
  let asked = 0;
  return async () => {
    const client = clients[asked++ % clients.length];
    return JSON.parse((await client?.ask("/api/status")) ?? "").killswitch_active;
  };
}

/** `nft` has started by the time of the order. It cannot open the socket that Bun gives a program as standard input. */
function flusher(): () => number {
  const nft = Bun.spawn(["sh", "-c", "cat | nft -f -"], { stdin: "pipe" });
  return () => {
    const orderedAt = performance.now();
    nft.stdin.write("flush ruleset\n");
    void nft.stdin.end();
    return orderedAt;
  };
}

/** Each has an address of its own, as only loopback gives one machine so many. */
function openClients(port: number): Promise<Client[]> {
  return Promise.all(
    Array.from({ length: CLIENTS }, (_, number) => Client.open(port, `127.0.1.${number + 1}`)),
  );
}

/** One connection, with one question at a time. */
class Client {
  private waiting: PromiseWithResolvers<string> | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private text = "";

  private constructor(private readonly socket: net.Socket) {
    socket.on("data", (data) => this.received(data.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => this.waiting?.reject(new Error("the gateway has closed the connection")));
  }

  static open(port: number, localAddress: string): Promise<Client> {
    const { promise, resolve, reject } = Promise.withResolvers<Client>();
    const socket = net.connect({ host: "127.0.0.1", port, localAddress }, () => resolve(new Client(socket)));
    socket.once("error", reject);
    return promise;
  }

  /** The body of the answer; an earlier question is answered first. */
  ask(path: string): Promise<string> {
    const answered = this.last.then(async () => {
      if (this.socket.destroyed) throw new Error("the gateway has closed the connection");
      this.waiting = Promise.withResolvers();
      this.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      const [head = "", body = ""] = (await this.waiting.promise).split("\r\n\r\n");
      if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(`${path}: ${head.split("\r\n")[0]}`);
      return body;
    });
    this.last = answered.catch(() => {});
    return answered;
  }

  close(): void {
    this.waiting = null;
    this.socket.destroy();
  }

  private received(part: string): void {
    this.text += part;
    const head = this.text.indexOf("\r\n\r\n");
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(this.text)?.[1];
    if (head < 0 || length === undefined || this.text.length < head + 4 + Number(length)) return;
    this.waiting?.resolve(this.text);
    this.text = "";
  }
}

const [port, rounds] = process.argv.slice(2).map(Number);
process.stdout.write(JSON.stringify(await race(port ?? 0, rounds ?? 0)));
process.exit(0);
