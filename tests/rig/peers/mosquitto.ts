import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandIn } from "../../../src/sandbox/namespace.ts";
import { CLIENT_ENVIRONMENT, UNPACKED } from "../tools/client-programs.ts";
import type { Lab } from "../tools/lab.ts";
import { until } from "../tools/until.ts";

export const USER = "ha";
export const PASSWORD = "correct-horse";
const PORT = 1883;

/** Debian's broker in one of the lab's namespaces, with one user; what is retained does not survive it. */
export class Mosquitto {
  private child: Bun.Subprocess | null = null;

  private constructor(
    private readonly namespace: string,
    private readonly folder: string,
  ) {}

  static async create(lab: Lab, namespace: string): Promise<Mosquitto> {
    const folder = join(lab.sandbox.directory, `mosquitto-${namespace}`);
    mkdirSync(folder);
    const passwords = join(folder, "passwords");
    writeFileSync(passwords, `${USER}:${PASSWORD}\n`, { mode: 0o600 });
    await run([`${UNPACKED}/usr/bin/mosquitto_passwd`, "-U", passwords]);
    const lines = [
      // As root, it would otherwise become a user that only an installed package has.
      ...["user root", "per_listener_settings false", "allow_anonymous false", `password_file ${passwords}`],
      ...[
        `listener ${PORT} 0.0.0.0`,
        `log_dest file ${join(folder, "log")}`,
        "log_type all",
        "connection_messages true",
      ],
    ];
    writeFileSync(join(folder, "conf"), `${lines.join("\n")}\n`);
    appendFileSync(join(folder, "log"), "");
    const broker = new Mosquitto(namespace, folder);
    await broker.start();
    return broker;
  }

  /** All that it has logged. */
  get log(): string {
    return readFileSync(join(this.folder, "log"), "utf8");
  }

  async start(): Promise<void> {
    const argv = [`${UNPACKED}/usr/sbin/mosquitto`, "-c", join(this.folder, "conf")];
    this.child = Bun.spawn(commandIn(this.namespace, argv), {
      env: CLIENT_ENVIRONMENT,
      stdio: ["ignore", "ignore", "ignore"],
    });
    await until(async () => (await this.tool("mosquitto_pub", "-t", "ready", "-n")) !== null);
  }

  async stop(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.child?.exited;
  }

  publish(topic: string, payload: string): Promise<unknown> {
    return this.tool("mosquitto_pub", "-t", topic, "-m", payload);
  }

  /** What is retained now, by topic. */
  async retained(): Promise<Map<string, string>> {
    const text = await this.tool("mosquitto_sub", "-t", "#", "-v", "--retained-only", "-W", "1");
    const lines = (text ?? "").split("\n").filter((line) => line !== "");
    return new Map(lines.map((line) => [line.split(" ", 1)[0] ?? "", line.slice(line.indexOf(" ") + 1)]));
  }

  /** The JSON that is retained in a topic. */
  // biome-ignore lint/suspicious/noExplicitAny: what was published is for the test to judge
  async json(topic: string): Promise<any> {
    return JSON.parse((await this.retained()).get(topic) ?? "null");
  }

  /** What a client printed; null if it could not connect. */
  private async tool(program: string, ...words: string[]): Promise<string | null> {
    const given = ["-h", "127.0.0.1", "-p", String(PORT), "-u", USER, "-P", PASSWORD, ...words];
    const argv = commandIn(this.namespace, [`${UNPACKED}/usr/bin/${program}`, ...given]);
    const child = Bun.spawn(argv, { env: CLIENT_ENVIRONMENT, stdout: "pipe", stderr: "ignore" });
    const text = await child.stdout.text();
    // 27 is the end of -W.
    return [0, 27].includes(await child.exited) ? text : null;
  }
}

async function run(argv: readonly string[]): Promise<void> {
  const child = Bun.spawn([...argv], { env: CLIENT_ENVIRONMENT, stderr: "pipe" });
  if ((await child.exited) !== 0) throw new Error(await child.stderr.text());
}
