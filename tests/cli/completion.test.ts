import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Value } from "typebox/value";
import { Destination } from "../../src/destinations/schema.ts";
import { LanNetwork, LanNetworkList } from "../../src/devices/network-schema.ts";
import { Device, DeviceList } from "../../src/devices/schema.ts";
import { Servers } from "../../src/http/schema.ts";
import { ScheduleList } from "../../src/schedules/schema.ts";
import { ServerRecord } from "../../src/servers/schema.ts";
import { UNKNOWN } from "../../src/servers/tree.ts";
import { TunnelRow } from "../../src/tunnel/schema.ts";
import { long } from "../fast.ts";
import { until } from "../rig/tools/until.ts";
import { commandLine, run } from "./program.ts";

const { test } = long("each word of each command in each shell");

setDefaultTimeout(180_000);

const NAMES = ["se-1", "my wörk", "it's $(touch pwned) `x`", "-x", "--url=http://evil"];
/** What may follow a device, in the order of the help. */
const DEVICE_FIELDS = [
  ...["exit", "pause", "resume", "name", "address", "rate", "quota"],
  ...["icon", "group", "forget"],
];
const SHELLS = ["bash", "zsh", "fish"] as const;
const scripts: Record<string, string> = {};
let folder: string;

const places = {
  [UNKNOWN]: { [UNKNOWN]: NAMES.map((hostname) => ({ ...Value.Create(ServerRecord), hostname })) },
};
const device = { ...Value.Create(Device), id: "02:00:00:00:00:20", name: "living room" };
const network = { ...Value.Create(LanNetwork), interface: "guest0", name: "Guests" };
/** What the gateway knows. */
const ANSWERS: Record<string, object> = {
  "/api/servers": { ...Value.Create(Servers), servers: places },
  "/api/tunnels": { tunnels: ["main", "tv"].map((name) => ({ ...Value.Create(TunnelRow), name })) },
  "/api/devices": { ...Value.Create(DeviceList), devices: [device], exits: ["main", "blocked"] },
  "/api/networks": { ...Value.Create(LanNetworkList), networks: [network] },
  "/api/destinations": {
    destinations: [
      { ...Value.Create(Destination), id: "3f9a1c", names: ["example.com"], prefixes: ["203.0.113.0/24"] },
    ],
  },
  "/api/schedules": {
    ...Value.Create(ScheduleList),
    schedules: [{ ...Value.Create(ScheduleList.properties.schedules.items), name: "bedtime" }],
  },
};
const gateway = Bun.serve({ port: 0, fetch: ({ url }) => Response.json(ANSWERS[new URL(url).pathname]) });

/** A folder with a `portcullis` that completes by the gateway above, and otherwise only writes down how it is run. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
  writeFileSync(
    join(folder, "portcullis"),
    `#!/bin/sh
if [ "$1" = complete ]; then
  PORTCULLIS_URL=${gateway.url.origin} exec ${commandLine().join(" ")} "$@"
fi
printf '%s|' "$@" >${folder}/ran.part
mv ${folder}/ran.part ${folder}/ran
`,
  );
  chmodSync(join(folder, "portcullis"), 0o755);
  for (const shell of SHELLS) {
    scripts[shell] = (await run(1, ["completion", shell])).stdout;
    writeFileSync(join(folder, shell), scripts[shell]);
  }
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway.stop(true);
});

/** What bash offers for a line, given as its words. */
async function bash(...words: string[]): Promise<string[]> {
  const script = `source ${folder}/bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$*; _portcullis 2>/dev/null
    for each in "\${COMPREPLY[@]}"; do printf '%s\\n' "$each"; done`;
  const env = { PATH: `${folder}:${process.env.PATH}`, LC_ALL: "C.UTF-8" };
  const child = Bun.spawn(["bash", "-c", script, "bash", "portcullis", ...words], { env, cwd: folder });
  return (await child.stdout.text()).split("\n").slice(0, -1);
}

test("bash completes commands, subcommands, options and choices", async () => {
  expect(await bash("conn")).toEqual(["connect"]);
  expect(await bash("killswitch", "")).toEqual(["on", "off", "status"]);
  expect(await bash("use", "")).toEqual(
    expect.arrayContaining(["account", "own", "imported", "mullvad", "list"]),
  );
  expect(await bash("account", "show", "--provider", "iv")).toEqual(["ivpn"]);
  expect(await bash("status", "--w")).toEqual(["--watch"]);
  expect(await bash("status", "--json", "--u")).toEqual(["--url"]);
  expect(await bash("killswitch", "status", "--j")).toEqual(["--json"]);
  expect(await bash("completion", "f")).toEqual(["fish"]);
  expect(await bash("remove", "--provider", "")).toEqual(["own", "imported"]);
  // An option's values, and a value that cannot be completed.
  expect(await bash("add", "--endpoint", "")).toEqual([]);
  expect(await bash("keypair", "")).toEqual([]);
});

test("bash completes each operand of a tunnel's command", async () => {
  expect(await bash("tunnel", "")).toEqual(["main", "tv"]);
  expect(await bash("tunnel", "tv", "")).toEqual(["connect", "disconnect", "remove"]);
  expect(await bash("tunnel", "tv", "connect", "se")).toEqual(["se-1"]);
  expect(await bash("tunnel", "tv", "connect", "se-1", "--provider", "")).toEqual([
    "account",
    "own",
    "imported",
  ]);
});

test("bash completes the server that another one is reached through", async () => {
  expect(await bash("connect", "x", "--via", "se")).toEqual(["se-1"]);
  expect(await bash("tunnel", "tv", "connect", "x", "--via", "my\\ w")).toEqual(["my\\ wörk"]);
});

test("bash completes servers by name, quoted, except names that look like options", async () => {
  expect(await bash("connect", "se")).toEqual(["se-1"]);
  expect(await bash("connect", "")).toEqual([
    "se-1",
    "my\\ wörk",
    "it\\'s\\ \\$\\(touch\\ pwned\\)\\ \\`x\\`",
  ]);
  expect(await bash("connect", "my\\ w")).toEqual(["my\\ wörk"]);
});

test("bash completes each place of a command by itself, whatever options come before it", async () => {
  expect(await bash("device", "liv")).toEqual(["living\\ room"]);
  expect(await bash("device", "living\\ room", "")).toEqual(DEVICE_FIELDS);
  expect(await bash("device", "--url", "name", "tv", "na")).toEqual(["name"]);
  expect(await bash("device", "--json", "tv", "exit", "")).toEqual(["main", "blocked"]);
  expect(await bash("default-exit", "b")).toEqual(["blocked"]);
  expect(await bash("history", "--device", "liv")).toEqual(["living\\ room"]);
  expect(await bash("history", "--tunnel", "t")).toEqual(["tv"]);
  expect(await bash("destination", "remove", "")).toEqual(["3f9a1c"]);
  expect(await bash("why", "liv")).toEqual(["living\\ room"]);
  expect(await bash("why", "living\\ room", "")).toEqual(["example.com", "203.0.113.0/24"]);
  expect(await bash("network", "Guests", "exit", "")).toEqual(["main", "blocked"]);
  // The same places are offered again.
  expect(await bash("connect", "se-1", "se")).toEqual(["se-1"]);
  expect(await bash("--version", "device", "tv", "n")).toEqual(["name"]);
});

test("bash completes what a schedule is for, and what it then gives", async () => {
  expect(await bash("schedule", "b")).toEqual(["bedtime"]);
  expect(await bash("schedule", "bedtime", "")).toEqual([
    "exit",
    "rate",
    "quota",
    "network-exit",
    "network-rate",
    "network-quota",
    "shared-rate",
    "shared-quota",
    "move",
    "remove",
  ]);
  expect(await bash("schedule", "bedtime", "exit", "liv")).toEqual(["living\\ room"]);
  expect(await bash("schedule", "bedtime", "exit", "tv", "")).toEqual(["main", "blocked"]);
  expect(await bash("schedule", "bedtime", "network-exit", "")).toEqual(["guest0", "Guests"]);
  expect(await bash("schedule", "bedtime", "network-exit", "guest0", "")).toEqual(["main", "blocked"]);
  expect(await bash("schedule", "bedtime", "network-rate", "Guests", "")).toEqual([]);
  expect(await bash("schedule", "bedtime", "move", "")).toEqual(["main", "tv"]);
  expect(await bash("schedule", "bedtime", "shared-rate", "")).toEqual([]);
});

test("a gateway that does not answer does not keep the shell waiting", async () => {
  const silent = Bun.serve({ port: 0, idleTimeout: 0, fetch: () => new Promise<Response>(() => {}) });
  const begun = performance.now();
  const { stdout, stderr } = await run(silent.port ?? 0, ["complete", "--", "connect", ""]);
  await silent.stop(true);
  // A request's own limit is a minute.
  expect(performance.now() - begun).toBeLessThan(50_000);
  expect([stdout, stderr]).toEqual(["", ""]);
});

const INTERACTIVE: Record<(typeof SHELLS)[number], () => string[]> = {
  bash: () => ["bash", "--noprofile", "--rcfile", join(folder, "bash"), "-i"],
  zsh: () => {
    writeFileSync(join(folder, ".zshrc"), `autoload -U compinit && compinit -D -u && source ${folder}/zsh\n`);
    return ["zsh", "-d", "-i"];
  },
  fish: () => ["fish", "--no-config", "-i", "-C", `source ${folder}/fish`],
};

describe.each(SHELLS)("at a terminal with %s", (shell) => {
  test.skipIf(Bun.which(shell) === null).each([
    ["portcullis device 02:\texi\tbl\t", "device|02:00:00:00:00:20|exit|blocked|"],
    ["portcullis device 02:00:00:00:00:20 exi\tbl\t", "device|02:00:00:00:00:20|exit|blocked|"],
    ["portcullis device liv\tfor\t", "device|living room|forget|"],
    ["portcullis tunnel t\tconn\tse\t--pro\tow\t", "tunnel|tv|connect|se-1|--provider|own|"],
    ["portcullis connect x --vi\tse\t", "connect|x|--via|se-1|"],
    ["portcullis connect my\t", "connect|my wörk|"],
    ["portcullis connect it\t", "connect|it's $(touch pwned) `x`|"],
    ["portcullis import por\t", "import|portcullis|"],
    ["portcullis add x --private-key-file por\t", "add|x|--private-key-file|portcullis|"],
    ["portcullis history --dev\tliv\t", "history|--device|living room|"],
    ["portcullis schedule bed\tnetwork-ex\tguest\tbl\t", "schedule|bedtime|network-exit|guest0|blocked|"],
    ["portcullis default-exit --url http://a:1 bl\t", "default-exit|--url|http://a:1|blocked|"],
  ])("%j runs what it completes", async (keys, ran) => {
    rmSync(join(folder, "ran"), { force: true });
    let screen = "";
    const child = Bun.spawn(INTERACTIVE[shell](), {
      cwd: folder,
      env: {
        PATH: `${folder}:${process.env.PATH}`,
        HOME: folder,
        ZDOTDIR: folder,
        TERM: "xterm",
        LC_ALL: "C.UTF-8",
      },
      terminal: {
        cols: 200,
        rows: 50,
        data: (_, bytes) => {
          screen += new TextDecoder().decode(bytes);
        },
      },
    });
    try {
      // A shell may discard what is typed before its first prompt.
      await until(() => /[$#%>] /.test(screen));
      child.terminal?.write(`${keys}\r`);
      await until(() => existsSync(join(folder, "ran")));
      expect(readFileSync(join(folder, "ran"), "utf8")).toBe(ran);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  });
});

test("each command and option of the help is offered, with its description", async () => {
  const shown = async (...args: string[]) => (await run(1, args)).stdout;
  const screen = (await shown("--help")).split("\n\n");
  const [daily = "", others = ""] = screen.slice(2);
  const commands = [
    ...[...daily.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name),
    ...[...others.matchAll(/(?<= {2}|, )[a-z-]+(?=,|$)/gm)].map(([name]) => name),
  ];
  const options = [...(await shown("add", "--help")).matchAll(/^ {2}(?:-., )?(--[a-z-]+)/gm)].map(
    ([, name]) => name,
  );
  expect(commands).toContain("connect");
  expect(options).toContain("--private-key-file");
  const offered = async (...words: string[]) => {
    const lines = (await shown("complete", "--", ...words)).split("\n");
    return lines.filter((line) => /^\S+\t\S/.test(line)).map((line) => line.split("\t")[0]);
  };
  expect((await offered("")).sort()).toEqual(commands.sort());
  expect(await offered("add", "x", "-")).toEqual(expect.arrayContaining(options));
});

test("names of files are left to the shell", async () => {
  expect((await run(1, ["complete", "--", "import", ""])).code).toBe(9);
  expect((await run(1, ["complete", "--", "add", "x", "--private-key-file", ""])).code).toBe(9);
});

test.each(SHELLS)("%s parses its script without an error", (shell) => {
  if (Bun.which(shell) === null) return;
  const { exitCode, stderr } = Bun.spawnSync([shell, "-n", join(folder, shell)]);
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
});

test.skipIf(Bun.which("fish") === null)("fish completes as bash does", async () => {
  const complete = async (line: string) => {
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder };
    const script = `source ${folder}/fish; complete -C ${JSON.stringify(line)}`;
    const stdout = await Bun.spawn(["fish", "-N", "-c", script], { env }).stdout.text();
    return stdout
      .split("\n")
      .slice(0, -1)
      .map((each) => each.split("\t")[0] ?? "");
  };
  expect(await complete("portcullis conn")).toEqual(["connect"]);
  expect(await complete("portcullis killswitch status --j")).toEqual(["--json"]);
  expect((await complete("portcullis remove --provider ")).toSorted()).toEqual(["imported", "own"]);
  expect((await complete("portcullis connect x --via ")).toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
  expect((await complete("portcullis tunnel ")).toSorted()).toEqual(["main", "tv"]);
  expect((await complete("portcullis tunnel tv ")).toSorted()).toEqual(["connect", "disconnect", "remove"]);
  expect((await complete("portcullis tunnel tv connect ")).toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
  expect((await complete("portcullis device --url x tv ")).toSorted()).toEqual(DEVICE_FIELDS.toSorted());
  expect((await complete("portcullis device tv exit ")).toSorted()).toEqual(["blocked", "main"]);
  expect((await complete("portcullis schedule x network-exit ")).toSorted()).toEqual(["Guests", "guest0"]);
  expect(await complete("portcullis device liv")).toEqual(["living room"]);
  expect((await complete("portcullis connect ")).toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
});
