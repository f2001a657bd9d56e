import { type Client, openClients } from "./questions.ts";

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

const [port, rounds] = process.argv.slice(2).map(Number);
process.stdout.write(JSON.stringify(await race(port ?? 0, rounds ?? 0)));
process.exit(0);
