import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../rig/tools/until.ts";

/** Built by `scripts/build`, which `scripts/test` runs first. */
const BINARY = join(import.meta.dir, "../../dist/portcullis");
const PORT = 20_000 + (process.pid % 10_000);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-binary-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]) {
  return spawned([BINARY, ...args]);
}

async function spawned(argv: string[], env: Record<string, string | undefined> = process.env) {
  const child = Bun.spawn(argv, { cwd: folder, env, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

test("--help and --version answer for the program and for each command", async () => {
  for (const command of [
    [],
    ["serve"],
    ["try"],
    ["install"],
    ["uninstall"],
    ["killswitch"],
    ["killswitch", "status"],
  ]) {
    expect(await run(...command, "--version")).toEqual({ code: 0, stdout: "portcullis 0.1.0\n", stderr: "" });
    expect((await run(...command, "--help")).stdout).toStartWith("Usage: portcullis");
  }
}, 120_000);

test("a usage error exits 2 with one line that names what is wrong", async () => {
  for (const args of [
    ["fly"],
    ["serve", "--port", "0"],
    ["serve", "--nonsense"],
    ["serve", "--interface", "a/b"],
  ]) {
    const { code, stdout, stderr } = await run(...args);
    expect({ args, code, stdout, lines: stderr.trim().split("\n").length }).toEqual({
      args,
      code: 2,
      stdout: "",
      lines: 1,
    });
  }
});

test("without ip, wg and nft it says which packages to install; without root, that it needs root", async () => {
  const none = await spawned([BINARY, "serve"], { PATH: folder });
  expect(none.code).toBe(1);
  expect(none.stderr).toContain(
    "apt-get install --no-install-recommends iproute2 wireguard-tools nftables util-linux",
  );
  const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"];
  const unprivileged = await spawned([...nobody, BINARY, "serve", "--state-dir", "/nowhere"]);
  expect(unprivileged.code).toBe(1);
  expect(unprivileged.stderr).toContain("run as root");
});

/** The table of the boot unit if its files cannot be read. */
const HALF = "add chain inet portcullis output { type filter hook output priority filter; policy drop; }";

test.each([
  ["no kill switch", "add table inet other"],
  ["half of one", `add table inet portcullis; ${HALF}`],
])(
  "if the state directory cannot be opened it refuses to serve, and leaves a complete kill switch where there was %s",
  async (_, before) => {
    const netns = `pcbinary${process.pid}`;
    await spawned(["ip", "netns", "add", netns]);
    try {
      expect((await spawned(["ip", "netns", "exec", netns, "nft", before])).code).toBe(0);
      writeFileSync(join(folder, "file"), "");
      const serve = [BINARY, "serve", "--state-dir", join(folder, "file")];
      const { code, stderr } = await spawned(["ip", "netns", "exec", netns, ...serve]);
      expect(code).toBe(1);
      expect(stderr).toContain("portcullis: ");
      const table = await spawned([
        "ip",
        "netns",
        "exec",
        netns,
        "nft",
        "list",
        "table",
        "inet",
        "portcullis",
      ]);
      expect(table.stdout.match(/hook (input|forward|output) priority filter; policy drop;/g)).toHaveLength(
        3,
      );
      expect((await spawned(["ip", "-n", netns, "rule"])).stdout).toContain("unreachable");
    } finally {
      await spawned(["ip", "netns", "delete", netns]);
    }
  },
);

test("the binary reads neither .env nor bunfig.toml of the folder in which it is started", async () => {
  writeFileSync(join(folder, ".env"), "PORTCULLIS_PORT=wrong\n");
  writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./missing.ts"]\n');
  const { stderr } = await spawned([BINARY, "serve"], { PATH: folder });
  expect(stderr).toContain("not found; install: ");
});

test("try: the sandbox answers, connects, and leaves nothing behind; the next one removes what a killed one left", async () => {
  const api = `http://127.0.0.1:${PORT}`;
  const killed = await started();
  killed.kill("SIGKILL");
  await killed.exited;
  expect(remains(killed.pid)).not.toEqual([]);

  const second = await started();
  expect(remains(killed.pid)).toEqual([]);
  const connected = await fetch(`${api}/api/connect`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ server: "box-vpn-1" }),
  });
  expect(await connected.json()).toEqual({ success: true });
  const page = Bun.spawn(
    ["ip", "netns", "exec", `pc${second.pid}-1-client`, "curl", "-s", "http://203.0.113.80/"],
    { stdout: "pipe" },
  );
  expect(await page.stdout.text()).toContain("203.0.113.11");
  second.kill("SIGINT");
  expect(await second.exited).toBe(0);
  // wireguard-go ends, and removes its socket, after its interface.
  await until(() => remains(second.pid).length === 0);

  async function started() {
    const child = Bun.spawn([BINARY, "try", "--port", `${PORT}`], {
      cwd: folder,
      stdout: "ignore",
      stderr: "inherit",
    });
    for (let tries = 0; tries < 1_200; tries += 1) {
      const answer = await fetch(`${api}/health`).then(
        (response) => response.text(),
        () => "",
      );
      if (answer === "healthy") return child;
      await Bun.sleep(50);
    }
    throw new Error("the sandbox does not answer");
  }
}, 120_000);

/** Namespaces, files, sockets and temporary folders with the name of a sandbox of that process. */
function remains(pid: number): string[] {
  return ["/run/netns", "/etc/netns", "/var/run/wireguard", tmpdir()]
    .filter(existsSync)
    .flatMap((place) => readdirSync(place).filter((name) => name.startsWith(`pc${pid}-`)));
}
