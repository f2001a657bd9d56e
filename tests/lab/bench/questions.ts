import net from "node:net";
import { now } from "./clock.ts";

export interface Questions {
  port: number;
  path: string;
  perSecond: number;
  count: number;
}

/** Each from an address of its own: the gateway serves ten requests a second to a client. */
const CLIENTS = 100;
const clientAddress = (number: number) => `127.0.1.${number + 1}`;

/** Asks at a steady rate, whether or not the answers come, and returns the milliseconds that each answer took. */
export async function askQuestions({ port, path, perSecond, count }: Questions): Promise<number[]> {
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, number) => Client.open(number, port)),
  );
  const beganAt = now();
  const answers: Promise<number>[] = [];
  while (answers.length < count) {
    const due = Math.min(count, Math.floor(((now() - beganAt) / 1_000) * perSecond) + 1);
    for (let number = answers.length; number < due; number += 1) {
      const client = clients[number % CLIENTS];
      if (client !== undefined) answers.push(client.ask(path));
    }
    await Bun.sleep(1);
  }
  const times = await Promise.all(answers);
  for (const client of clients) client.close();
  return times;
}

/** One connection, with one question at a time. */
class Client {
  private waiting: PromiseWithResolvers<string> | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private text = "";

  private constructor(private readonly socket: net.Socket) {
    socket.on("data", (data) => this.received(data.toString("latin1")));
    socket.on("error", (error) => this.waiting?.reject(error));
    socket.on("close", () => this.waiting?.reject(new Error("the gateway has closed the connection")));
  }

  static open(number: number, port: number): Promise<Client> {
    const { promise, resolve, reject } = Promise.withResolvers<Client>();
    const from = { host: "127.0.0.1", port, localAddress: clientAddress(number) };
    const socket = net.connect(from, () => resolve(new Client(socket)));
    socket.once("error", reject);
    return promise;
  }

  /** The time until the answer, counted from now even if an earlier one is still due. */
  ask(path: string): Promise<number> {
    const askedAt = now();
    const answered = this.last.then(async () => {
      this.waiting = Promise.withResolvers();
      this.socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      const [status] = (await this.waiting.promise).split("\r\n");
      if (status !== "HTTP/1.1 200 OK") throw new Error(`${path}: ${status}`);
      return now() - askedAt;
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
