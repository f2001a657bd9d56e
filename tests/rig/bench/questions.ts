import net from "node:net";
import { now } from "./clock.ts";

export interface Questions {
  port: number;
  path: string;
  perSecond: number;
  count: number;
}

const CLOSED = new Error("the gateway has closed the connection");

/** The gateway serves ten requests a second to a client. */
const CLIENTS = 100;

/** Asks at a steady rate, whether or not the answers come, and returns the milliseconds that each answer took. */
export async function askQuestions({ port, path, perSecond, count }: Questions): Promise<number[]> {
  const clients = await openClients(port);
  const beganAt = now();
  const answers: Promise<number>[] = [];
  const timed = async (client: Client) => {
    const askedAt = now();
    await client.ask(path);
    return now() - askedAt;
  };
  while (answers.length < count) {
    const due = Math.min(count, Math.floor(((now() - beganAt) / 1_000) * perSecond) + 1);
    for (let number = answers.length; number < due; number += 1) {
      const client = clients[number % CLIENTS];
      if (client !== undefined) answers.push(timed(client));
    }
    await Bun.sleep(1);
  }
  const times = await Promise.all(answers);
  for (const client of clients) client.close();
  return times;
}

/** Each has an address of its own, as only loopback gives one machine so many. */
export function openClients(port: number): Promise<Client[]> {
  return Promise.all(
    Array.from({ length: CLIENTS }, (_, number) => Client.open(port, `127.0.1.${number + 1}`)),
  );
}

/** One connection, with one question at a time. */
export class Client {
  private waiting: PromiseWithResolvers<string> | null = null;
  private last: Promise<unknown> = Promise.resolve();
  private text = "";

  private constructor(private readonly socket: net.Socket) {
    socket.on("data", (data) => this.received(data.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => this.waiting?.reject(CLOSED));
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
      if (this.socket.destroyed) throw CLOSED;
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
