import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../lab/until.ts";
import { commandLine, run } from "./program.ts";

setDefaultTimeout(60_000);

const NAMES = ["se-1", "my wörk", "it's $(touch pwned) `x`", "-x", "--url=http://evil"];
const SHELLS = ["bash", "zsh", "fish"] as const;
const scripts: Record<string, string> = {};
let folder: string;

/** A folder with a `portcullis` that prints the names above. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
  writeFileSync(join(folder, "names"), NAMES.map((name) => `${name}\n`).join(""));
  writeFileSync(
    join(folder, "portcullis"),
    `#!/bin/sh
case "$*" in
"servers --places --names") cat ${folder}/names ;;
"tunnels --names") printf '%s\\n' main tv ;;
"devices --names") printf '%s\\n' 02:00:00:00:00:20 'living room' ;;
"schedules --names") printf '%s\\n' bedtime ;;
"devices --exits") printf '%s\\n' main blocked ;;
*) printf '%s|' "$@" >${folder}/ran.part; mv ${folder}/ran.part ${folder}/ran ;;
esac
`,
  );
  chmodSync(join(folder, "portcullis"), 0o755);
  for (const shell of SHELLS) {
    scripts[shell] = (await run(1, ["completion", shell])).stdout;
    writeFileSync(join(folder, shell), scripts[shell]);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

/** What bash offers for a line, given as its words. */
function bash(...words: string[]): string[] {
  const script = `source ${folder}/bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE=$*; _portcullis 2>/dev/null
    for each in "\${COMPREPLY[@]}"; do printf '%s\\n' "$each"; done`;
  const env = { PATH: `${folder}:${process.env.PATH}`, LC_ALL: "C.UTF-8" };
  const { stdout } = Bun.spawnSync(["bash", "-c", script, "bash", "portcullis", ...words], {
    env,
    cwd: folder,
  });
  return stdout.toString().split("\n").slice(0, -1);
}

test("bash completes commands, subcommands, options and choices", () => {
  expect(bash("conn")).toEqual(["connect"]);
  expect(bash("killswitch", "")).toEqual(["on", "off", "status"]);
  expect(bash("use", "")).toEqual(expect.arrayContaining(["account", "own", "imported", "mullvad", "list"]));
  expect(bash("account", "show", "--provider", "iv")).toEqual(["ivpn"]);
  expect(bash("status", "--w")).toEqual(["--watch"]);
  expect(bash("status", "--json", "--u")).toEqual(["--url"]);
  expect(bash("killswitch", "status", "--j")).toEqual(["--json"]);
  expect(bash("completion", "f")).toEqual(["fish"]);
  expect(bash("remove", "--provider", "")).toEqual(["own", "imported"]);
  // An option's values, and a value that cannot be completed.
  expect(bash("add", "--endpoint", "")).toEqual([]);
  expect(bash("keypair", "")).toEqual([]);
});

test("bash completes each operand of a tunnel's command", () => {
  expect(bash("tunnel", "")).toEqual(["main", "tv"]);
  expect(bash("tunnel", "tv", "")).toEqual(["connect", "disconnect", "remove"]);
  expect(bash("tunnel", "tv", "connect", "se")).toEqual(["se-1"]);
  expect(bash("tunnel", "tv", "connect", "se-1", "--provider", "")).toEqual(["account", "own", "imported"]);
});

test("bash completes the server that another one is reached through", () => {
  expect(bash("connect", "x", "--via", "se")).toEqual(["se-1"]);
  expect(bash("tunnel", "tv", "connect", "x", "--via", "my\\ w")).toEqual(["my\\ wörk"]);
});

test("bash completes servers by name, quoted, except names that look like options", () => {
  expect(bash("connect", "se")).toEqual(["se-1"]);
  expect(bash("connect", "")).toEqual(["se-1", "my\\ wörk", "it\\'s\\ \\$\\(touch\\ pwned\\)\\ \\`x\\`"]);
  expect(bash("connect", "my\\ w")).toEqual(["my\\ wörk"]);
});

test("bash completes each place of a command by itself, whatever options come before it", () => {
  expect(bash("device", "liv")).toEqual(["living\\ room"]);
  expect(bash("device", "living\\ room", "")).toEqual(["exit", "name", "address", "forget"]);
  expect(bash("device", "--url", "name", "tv", "na")).toEqual(["name"]);
  expect(bash("device", "--json", "tv", "exit", "")).toEqual(["main", "blocked"]);
  expect(bash("default-exit", "b")).toEqual(["blocked"]);
  expect(bash("history", "--device", "liv")).toEqual(["living\\ room"]);
  expect(bash("history", "--tunnel", "t")).toEqual(["tv"]);
  expect(bash("schedule", "b")).toEqual(["bedtime"]);
  expect(bash("schedule", "bedtime", "")).toEqual(["exit", "move", "remove"]);
  expect(bash("schedule", "bedtime", "exit", "liv")).toEqual(["living\\ room"]);
  expect(bash("schedule", "bedtime", "exit", "tv", "")).toEqual(["main", "blocked"]);
  // The same places are offered again.
  expect(bash("connect", "se-1", "se")).toEqual(["se-1"]);
  expect(bash("--version", "device", "tv", "n")).toEqual(["name"]);
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
    ["portcullis history --dev\tliv\t", "history|--device|living room|"],
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

test("each command and option is in the script of every shell", async () => {
  const help = (...args: string[]) => Bun.spawnSync(commandLine(...args, "--help")).stdout.toString();
  const commands = [...help().matchAll(/^ {2}([a-z]+) /gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "help");
  const options = [...help("add").matchAll(/--([a-z-]+)/g)].map(([, name]) => name);
  expect(commands).toContain("connect");
  expect(options).toContain("private-key-file");
  for (const shell of SHELLS) {
    for (const word of [...commands, ...options]) expect(scripts[shell]).toContain(word);
  }
});

test.each(SHELLS)("%s parses its script without an error", (shell) => {
  if (Bun.which(shell) === null) return;
  const { exitCode, stderr } = Bun.spawnSync([shell, "-n", join(folder, shell)]);
  expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" });
});

test.skipIf(Bun.which("fish") === null)("fish completes as bash does", () => {
  const complete = (line: string) => {
    const env = { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder };
    const script = `source ${folder}/fish; complete -C ${JSON.stringify(line)}`;
    const { stdout } = Bun.spawnSync(["fish", "-N", "-c", script], { env });
    return stdout
      .toString()
      .split("\n")
      .slice(0, -1)
      .map((each) => each.split("\t")[0] ?? "");
  };
  expect(complete("portcullis conn")).toEqual(["connect"]);
  expect(complete("portcullis killswitch status --j")).toEqual(["--json"]);
  expect(complete("portcullis remove --provider ").toSorted()).toEqual(["imported", "own"]);
  expect(complete("portcullis connect x --via ").toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
  expect(complete("portcullis tunnel ").toSorted()).toEqual(["main", "tv"]);
  expect(complete("portcullis tunnel tv ").toSorted()).toEqual(["connect", "disconnect", "remove"]);
  expect(complete("portcullis tunnel tv connect ").toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
  expect(complete("portcullis device --url x tv ").toSorted()).toEqual(["address", "exit", "forget", "name"]);
  expect(complete("portcullis device tv exit ").toSorted()).toEqual(["blocked", "main"]);
  expect(complete("portcullis device liv")).toEqual(["living room"]);
  expect(complete("portcullis connect ").toSorted()).toEqual(NAMES.slice(0, 3).toSorted());
});
