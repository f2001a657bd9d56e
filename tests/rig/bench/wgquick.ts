import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { LAN } from "../../../src/sandbox/topology.ts";
import type { Lab } from "../tools/lab.ts";
import { now } from "./clock.ts";
import { Computer } from "./computer.ts";
import type { ServerNumber, Side, Span } from "./side.ts";

/**
 * A home gateway with `wg-quick`: forwards and masquerades, its rules made once, outside what is measured. Its
 * files are those that the other side imports, without the DNS line: `wg-quick` would run one program more for it.
 */
export class WgQuick implements Side {
  readonly name = "wg-quick";
  private up: ServerNumber | null = null;
  private readonly files: readonly [string, string];
  private done = Promise.withResolvers<string>();

  private constructor(
    readonly lab: Lab,
    readonly computer: Computer,
    private readonly shell: Bun.Subprocess<"pipe", "pipe", "ignore">,
  ) {
    this.files = [this.writeFile(0), this.writeFile(1)];
    void this.listen();
  }

  /** `tracer` runs in front of each `wg-quick`. */
  static async start(lab: Lab, tracer: readonly string[] = []): Promise<WgQuick> {
    const computer = await Computer.start(lab.namespaces.client);
    // A shell that waits inside, so that entering the namespace is not on the clock.
    const shell = Bun.spawn(
      ["ip", "netns", "exec", lab.namespaces.gateway, "sh", "-c", LOOP, "sh", ...tracer],
      {
        env: { PATH: process.env.PATH, LC_ALL: "C", WG_QUICK_USERSPACE_IMPLEMENTATION: "wireguard-go" },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "ignore",
      },
    );
    const side = new WgQuick(lab, computer, shell);
    await side.forward("guarded");
    return side;
  }

  /** `guarded` refuses what would leave beside a tunnel, as `PostUp` lines on the web do; `plain` lets it pass. */
  async forward(how: "guarded" | "plain"): Promise<void> {
    const guard = `iifname "lan0" oifname "${this.lab.sandbox.uplink}" reject with icmpx admin-prohibited`;
    const rules = rulesOf(how === "guarded" ? guard : "");
    const { code, stderr } = await this.lab.exec(this.lab.namespaces.gateway, ["nft", "-f", "-"], rules);
    if (code !== 0) throw new Error(stderr);
  }

  async connect(server: ServerNumber): Promise<Span> {
    const span = await this.run(`up ${this.files[server]}`);
    this.up = server;
    return span;
  }

  async switch(to: ServerNumber): Promise<Span> {
    const { startedAt } = await this.disconnect();
    return { startedAt, endedAt: (await this.connect(to)).endedAt };
  }

  async disconnect(): Promise<Span> {
    const span = await this.run(`down ${this.files[this.up ?? 0]}`);
    this.up = null;
    return span;
  }

  private async run(command: string): Promise<Span> {
    this.done = Promise.withResolvers<string>();
    const startedAt = now();
    this.shell.stdin.write(`${command}\n`);
    const code = await this.done.promise;
    if (code !== "0") throw new Error(`wg-quick ${command}: exit code ${code}`);
    return { startedAt, endedAt: now() };
  }

  private async listen(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.shell.stdout) this.done.resolve(decoder.decode(chunk).trim());
  }

  /** The file's name is the interface's, which must be unique on this machine. */
  private writeFile(server: ServerNumber): string {
    const path = join(this.lab.sandbox.directory, `${this.lab.sandbox.id}q${server}.conf`);
    const text = this.lab.sandbox.servers[server].importText.replace(/^DNS = .*\n/m, "");
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }
}

/** Its arguments, if any, are the tracer. */
const LOOP = `while read -r verb file; do "$@" wg-quick "$verb" "$file" </dev/null >/dev/null 2>&1; echo $?; done`;

function rulesOf(guard: string): string {
  return `add table inet home
delete table inet home
table inet home {
  chain forward { type filter hook forward priority filter; ${guard}; }
  chain outgoing {
    type nat hook postrouting priority srcnat;
    oifname != "lan0" ip saddr ${LAN.prefix4} masquerade
    oifname != "lan0" ip6 saddr ${LAN.prefix6} masquerade
  }
}
`;
}
