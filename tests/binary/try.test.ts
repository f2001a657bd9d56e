import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { BINARY } from "./client.ts";

const TIMEOUT_MS = 240_000;
setDefaultTimeout(TIMEOUT_MS);
/** Five requests a second may connect, disconnect, or change a provider, a tunnel or a device. */
const PACE_MS = 250;
/** Another one than those of tests/binary/binary.test.ts. */
const PORT = 30_000 + (process.pid % 2_000);

test("each command that try prints works, and each computer's page shows its own server", async () => {
  const child = Bun.spawn([BINARY, "try", "--port", `${PORT}`], { stdout: "pipe", stderr: "inherit" });
  try {
    const screen = await shown(child.stdout, "removes the sandbox.");
    expect(screen.split("\n").filter((line) => line.length > 80 && !line.includes("portcullis()"))).toEqual(
      [],
    );
    const { definitions, commands } = partsOf(screen);
    const printed = await played(definitions, commands);
    // The phone's private key is for nobody else.
    const [, folder = ""] = /^cd (.+)$/m.exec(definitions) ?? [];
    expect([folder, join(folder, "phone.conf")].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o600,
    ]);
    expect(printed.filter(([, text]) => /"success":false|portcullis: |command not found/.test(text))).toEqual(
      [],
    );
    expect(printed.filter(([command]) => /^(laptop|tv|camera) curl/.test(command))).toEqual([
      ["laptop curl http://203.0.113.80/", expect.stringContaining("curl: (7) Failed to connect")],
      ["laptop curl http://203.0.113.80/", "You come from 203.0.113.11 (VPN server 1)\n"],
      ["laptop curl 'http://[2001:db8:113::80]/'", "You come from 2001:db8:113::11 (VPN server 1)\n"],
      ["laptop curl http://203.0.113.80/", "You come from 203.0.113.12 (VPN server 2)\n"],
      ["tv curl http://203.0.113.80/", "You come from 203.0.113.12 (VPN server 2)\n"],
      ["camera curl http://203.0.113.80/", expect.stringContaining("curl: (7) Failed to connect")],
      ["tv curl http://203.0.113.80/", expect.stringContaining("curl: (7) Failed to connect")],
      ["laptop curl http://203.0.113.80/", expect.stringContaining("curl: (7) Failed to connect")],
    ]);
  } finally {
    child.kill("SIGINT");
  }
  expect(await child.exited).toBe(0);
});

/** What the program prints up to this text. */
async function shown(stream: ReadableStream<Uint8Array>, end: string): Promise<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream() as never)) {
    text += chunk;
    if (text.includes(end)) return text;
  }
  throw new Error(`the program ended: ${text}`);
}

/** The indented lines; those up to the first step define what the others use. */
function partsOf(screen: string): { definitions: string; commands: string[] } {
  const [head = "", rest = ""] = screen.split(/^(?=1\. )/m);
  const indented = (text: string) => [...text.matchAll(/^ {2}(\S.*)$/gm)].map(([, line = ""]) => line);
  return { definitions: indented(head).join("\n"), commands: indented(rest) };
}

/** Runs the commands one after another, as in a terminal, where curl shows no progress. */
async function played(definitions: string, commands: readonly string[]): Promise<[string, string][]> {
  const printed: [string, string][] = [];
  for (const command of commands) {
    const script = `${definitions}\n${command.replace(/\bcurl /, "curl -sS ")}`;
    const next = Bun.sleep(PACE_MS);
    const child = Bun.spawn(["bash", "-c", script], { cwd: "/", stdout: "pipe", stderr: "pipe" });
    printed.push([command, (await child.stdout.text()) + (await child.stderr.text())]);
    await next;
  }
  return printed;
}

test("try: where namespaces are not permitted, one sentence says so, and nothing is left behind", () => {
  const lacking = ["--bounding-set", "-sys_admin,-net_admin", "--inh-caps", "-sys_admin,-net_admin"];
  const { exitCode, pid, stdout, stderr } = Bun.spawnSync(["setpriv", ...lacking, BINARY, "try"]);
  expect(`${stderr}${stdout}`).toMatch(
    /^portcullis: network namespaces are not permitted here \(ip netns .*Operation not permitted\); start it on the machine itself, or in a privileged container\n$/,
  );
  expect(exitCode).toBe(1);
  expect(readdirSync("/run/netns").filter((name) => name.startsWith(`pc${pid}-`))).toEqual([]);
});

test("try: a port that is in use is named, and nothing is left behind", async () => {
  const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const command = [BINARY, "try", "--port", `${taken.port}`];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const [code, stderr] = await Promise.all([child.exited, child.stderr.text()]);
  taken.stop(true);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: `portcullis: cannot listen on 127.0.0.1 port ${taken.port}: it is in use; choose another with --port\n`,
  });
  expect(readdirSync("/run/netns").filter((name) => name.startsWith(`pc${child.pid}-`))).toEqual([]);
});
