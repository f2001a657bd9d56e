import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Log } from "../../src/base/log.ts";
import { installPlan } from "../../src/install/plan.ts";
import { uninstallPlan } from "../../src/install/removal.ts";
import { carryOut } from "../../src/install/run.ts";
import { bootFilesFor, bootKeeper, SETTLED_AFTER_MS } from "../../src/killswitch/boot-files.ts";
import { BY_HAND } from "../../src/system/layout.ts";
import { isSetupDue } from "../../src/system/setup.ts";
import { FakeHost } from "../fake/host.ts";
import { ALL_BY_HAND, ONE_CABLE, TWO_CABLES } from "./example.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-install-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** There is no systemd; commands to it are recorded. */
class Machine extends FakeHost {
  override async run(argv: readonly string[]): Promise<string> {
    this.commands.push(argv.join(" "));
    return "";
  }
}

function rootWithProgram(name: string): { root: string; program: string } {
  const root = join(folder, name);
  const program = `${root}.program`;
  writeFileSync(program, "a program");
  chmodSync(program, 0o700);
  return { root, program };
}

function readIfThere(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function planFor(program: string, machine = ONE_CABLE) {
  return installPlan({ machine, given: {}, layout: BY_HAND, program, version: "1.2.3", packages: [] });
}

async function doneIn(root: string, plan: Parameters<typeof carryOut>[0], host = new Machine()) {
  const said: string[] = [];
  await carryOut(plan, { host, root, say: (line) => said.push(line) });
  return { said, host };
}

test("an installation writes every file with its mode, then starts the kill switch and the service", async () => {
  const { root, program } = rootWithProgram("first");
  const { host } = await doneIn(root, planFor(program));
  const mode = (path: string) => statSync(join(root, path)).mode & 0o7777;
  expect(readFileSync(join(root, "/usr/local/bin/portcullis"), "utf8")).toBe("a program");
  expect(mode("/usr/local/bin/portcullis")).toBe(0o755);
  expect(mode("/etc/portcullis/portcullis.env")).toBe(0o600);
  expect(mode("/var/lib/portcullis/boot/firewall.nft")).toBe(0o600);
  expect(mode("/var/lib/portcullis")).toBe(0o700);
  expect(mode("/etc/systemd/system/portcullis.service")).toBe(0o644);
  expect(host.commands).toEqual([
    "systemctl restart systemd-modules-load.service",
    "nft -c -f /var/lib/portcullis/boot/firewall.nft",
    "systemctl daemon-reload",
    "systemctl enable portcullis-killswitch.service portcullis-clock.service portcullis.service",
    "systemctl start portcullis-killswitch.service",
    "systemctl restart portcullis.service",
  ]);
});

test("a second installation changes no file and leaves no temporary files", async () => {
  const { root, program } = rootWithProgram("twice");
  await doneIn(root, planFor(program));
  const before = readdirSync(root, { recursive: true }).toSorted();
  const { said } = await doneIn(root, planFor(program));
  expect(said.filter((line) => /^ {2}(copy|write)/.test(line) && !line.endsWith(": unchanged"))).toEqual([]);
  expect(readdirSync(root, { recursive: true }).toSorted()).toEqual(before);
});

test("an upgrade replaces the program's file without changing the running one", async () => {
  const { root, program } = rootWithProgram("upgrade");
  await doneIn(root, planFor(program));
  const placed = join(root, "/usr/local/bin/portcullis");
  const running = statSync(placed).ino;
  writeFileSync(program, "a newer program");
  await doneIn(root, planFor(program));
  expect(readFileSync(placed, "utf8")).toBe("a newer program");
  expect(statSync(placed).ino).not.toBe(running);
});

test("an uninstallation leaves no file behind, and restores the sysctls that still exist", async () => {
  const { root, program } = rootWithProgram("removal");
  await doneIn(root, planFor(program));
  const sysctlsBefore = readFileSync(join(root, "/etc/portcullis/sysctls-before"), "utf8");
  const remains = { units: [], network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] };
  const host = new Machine();
  for (const { path } of ONE_CABLE.sysctls) host.files.set(`/proc/sys/net/${path}`, "9\n");
  host.files.delete("/proc/sys/net/ipv6/conf/eth0/accept_ra");
  await doneIn(
    root,
    uninstallPlan({
      machine: { sysctlsBefore },
      remains,
      forwarders: [],
      keepState: false,
      byHand: ALL_BY_HAND,
    }),
    host,
  );
  const files = readdirSync(root, { recursive: true }).filter((name) =>
    statSync(join(root, `${name}`)).isFile(),
  );
  expect(files).toEqual([]);
  expect(existsSync(join(root, "/etc/portcullis"))).toBe(false);
  expect(existsSync(join(root, "/usr/local/bin"))).toBe(true);
  expect(host.files.get("/proc/sys/net/ipv4/ip_forward")).toBe("0\n");
  expect(host.files.get("/proc/sys/net/ipv4/conf/eth0/send_redirects")).toBe("1\n");
  expect(host.files.has("/proc/sys/net/ipv6/conf/eth0/accept_ra")).toBe(false);
});

test("if the kernel refuses the ruleset, the installation ends before anything is enabled or started", async () => {
  const { root, program } = rootWithProgram("refusal");
  const host = new Machine();
  host.run = async (argv) => {
    if (argv[0] === "nft") throw new Error("nft -c failed");
    return Machine.prototype.run.call(host, argv);
  };
  await expect(doneIn(root, planFor(program), host)).rejects.toThrow("nft -c failed");
  expect(host.commands).toEqual(["systemctl restart systemd-modules-load.service"]);
});

test("a version counts as set up only once every step is done, and no longer after an uninstallation", async () => {
  const { root, program } = rootWithProgram("note");
  const disk = { read: async (path: string) => readIfThere(join(root, path)) };
  const due = async () => [await isSetupDue(disk, "1.2.3"), await isSetupDue(disk, "1.2.4")];
  expect(await due()).toEqual([false, false]);
  const host = new Machine();
  host.run = async (argv) => {
    if (argv.includes("restart") && argv.includes("portcullis.service")) throw new Error("timed out");
    return Machine.prototype.run.call(host, argv);
  };
  await expect(doneIn(root, planFor(program), host)).rejects.toThrow("timed out");
  expect(await due()).toEqual([true, true]);
  await doneIn(root, planFor(program));
  expect(await due()).toEqual([false, true]);
  const remains = { units: [], network: [], addresses: [], tables: [], rules: [], queues: [], routes: [] };
  const removal = { remains, forwarders: [], keepState: true, byHand: ALL_BY_HAND };
  await doneIn(root, uninstallPlan({ ...removal, machine: { sysctlsBefore: null } }));
  expect(await due()).toEqual([false, false]);
});

test("a step that may fail does not stop the plan, and any other does", async () => {
  const { root } = rootWithProgram("failing");
  const host = new Machine();
  host.run = () => Promise.reject(new Error("it is gone"));
  const step = { do: "run", argv: ["ip", "link", "del", "dev", "portcullis0"] } as const;
  const { said } = await doneIn(root, [{ ...step, mayFail: true }], host);
  expect(said).toEqual(["  run ip link del dev portcullis0: unchanged"]);
  await expect(doneIn(root, [step], host)).rejects.toThrow("it is gone");
});

describe("the service keeps what the next boot needs", () => {
  const [saved] = bootFilesFor(TWO_CABLES.network);

  /** A service with its state in a folder; `settle` lets time pass. */
  function service(installed: boolean) {
    const state = mkdtempSync(join(folder, "state-"));
    if (installed) mkdirSync(join(state, "boot"));
    const host = new FakeHost();
    host.patient = true;
    const settle = () => host.pass(SETTLED_AFTER_MS);
    return { state, settle, note: bootKeeper(state, host, new Log("error")) };
  }
  const firewallIn = (state: string) => readFileSync(join(state, "boot/firewall.nft"), "utf8");

  test("if it is installed", async () => {
    const { state, settle, note } = service(true);
    note(TWO_CABLES.network);
    await settle();
    for (const { name, text } of bootFilesFor(TWO_CABLES.network)) {
      expect(readFileSync(join(state, "boot", name), "utf8")).toBe(text);
    }
    const other = service(false);
    other.note(TWO_CABLES.network);
    await other.settle();
    expect(readdirSync(other.state)).toEqual([]);
  });

  test("while the network is whole", async () => {
    const { state, settle, note } = service(true);
    note(TWO_CABLES.network);
    await settle();
    for (const part of [{ lans: [] }, { uplink: null }]) {
      note({ ...TWO_CABLES.network, ...part });
      await settle();
    }
    expect(firewallIn(state)).toBe(saved?.text ?? "");
  });

  test("once it has settled, and not in between", async () => {
    const { state, settle, note } = service(true);
    note(ONE_CABLE.network);
    note(TWO_CABLES.network);
    note(TWO_CABLES.network);
    expect(readdirSync(join(state, "boot"))).toEqual([]);
    await settle();
    expect(firewallIn(state)).toBe(saved?.text ?? "");
  });
});

test("a setting that has its value is not written: in a container, those of the whole machine cannot be", async () => {
  const host = new FakeHost();
  host.files.set("/proc/sys/net/netfilter/nf_conntrack_max", "7000\n");
  host.files.set("/proc/sys/net/ipv4/ip_forward", "1\n");
  const written: string[] = [];
  host.writeSysctl = async (path, value) => void written.push(`${path} ${value}`);
  const plan = [
    { do: "sysctl", path: "netfilter/nf_conntrack_max", value: "7000" },
    { do: "sysctl", path: "ipv4/ip_forward", value: "0" },
  ] as const;
  await carryOut(plan, { host, root: folder, say: () => {} });
  expect(written).toEqual(["/proc/sys/net/ipv4/ip_forward 0"]);
});

test("Ctrl-C ends a plan after the step that is under way, which leaves no half file", async () => {
  const { root, program } = rootWithProgram("interrupted");
  writeFileSync(program, new Uint8Array(2 ** 23));
  const names = Array.from({ length: 40 }, (_, number) => `copy-${number}`);
  const script = `
    import { carryOut, interruption } from ${JSON.stringify(join(import.meta.dir, "../../src/install/run.ts"))};
    const plan = ${JSON.stringify(names)}.map((name) => ({ do: "copy", from: ${JSON.stringify(program)}, path: "/" + name, mode: 0o755 }));
    await carryOut(plan, { host: null, root: ${JSON.stringify(root)}, say: console.log, interrupted: interruption() }).catch(({ message }) => console.log(message));
    process.exit();`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  while (!existsSync(root) || readdirSync(root).length === 0) await Bun.sleep(1);
  child.kill("SIGINT");
  const lines = (await child.stdout.text()).trim().split("\n");
  expect(lines.at(-1)).toBe("interrupted");
  expect(readdirSync(root).length).toBe(lines.length - 1);
  expect(readdirSync(root).filter((name) => name.endsWith(".new"))).toEqual([]);
  expect(lines.length - 1).toBeLessThan(names.length);
});
