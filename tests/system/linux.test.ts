import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { GatewayError } from "../../src/base/errors.ts";
import { LinuxHost } from "../../src/system/linux.ts";
import { needsNamespaces } from "../fast.ts";
import { until } from "../rig/tools/until.ts";

test("a pipe in the place of a file does not hold up the service", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const pipe = join(folder, "leases");
  try {
    expect(Bun.spawnSync(["mkfifo", pipe]).exitCode).toBe(0);
    expect(await new LinuxHost().read(pipe, 100)).toBeNull();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a program whose input is still to come is started meanwhile, and killed if it does not come", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const started = join(folder, "started");
  const host = new LinuxHost();
  const waiting = (stdin: Promise<string>) =>
    host.run(["sh", "-c", 'echo $$ > "$0"; exec cat', started], { stdin });
  try {
    const text = Promise.withResolvers<string>();
    const output = waiting(text.promise);
    await until(async () => (await host.read(started)) !== null);
    text.resolve("one\ntwo\n");
    expect(await output).toBe("one\ntwo\n");
    rmSync(started);
    const none = Promise.withResolvers<string>();
    const failed = waiting(none.promise);
    await until(async () => ((await host.read(started)) ?? "") !== "");
    none.reject(new Error("no answer"));
    await expect(failed).rejects.toThrow("no answer");
    const command = `/proc/${(await host.read(started))?.trim()}/cmdline`;
    await until(async () => !(await host.read(command)));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a daemon is there once it works, and a signal to this program's session does not reach it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const started = join(folder, "started");
  const host = new LinuxHost();
  const told = async () => ((await host.read(started)) ?? "").trim();
  try {
    const script = 'echo "$$ $WHO" > "$0"; exec sleep 1000';
    await host.startDaemon(["sh", "-c", script, started], { WHO: "me" }, async () => (await told()) !== "");
    const [pid = "", who] = (await told()).split(" ");
    expect(who).toBe("me");
    // Its group and its session (proc_pid_stat(5)).
    const [, , group, session] =
      ((await host.read(`/proc/${pid}/stat`)) ?? "").split(") ")[1]?.split(" ") ?? [];
    expect([group, session]).toEqual([pid, pid]);
    process.kill(Number(pid), "SIGKILL");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a daemon that puts itself into the background is there, and one that fails says why", async () => {
  const host = new LinuxHost();
  const never = async () => false;
  await host.startDaemon(["true"], {}, never);
  const failed = host.startDaemon(["sh", "-c", "echo no such device >&2; exit 3"], {}, never);
  await expect(failed).rejects.toThrow("no such device");
  await expect(host.startDaemon(["no-such-program"], {}, never)).rejects.toThrow("no-such-program");
});

test("a program that cannot be started is an error of its own, also if its input never comes", async () => {
  const none = Promise.reject(new Error("no answer"));
  await expect(new LinuxHost().run(["no-such-program"], { stdin: none })).rejects.toThrow("no-such-program");
});

test("a program that waits for its input gets none if this one is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const [input, waits, ended] = ["input", "waits", "ended"].map((name) => join(folder, name));
  const source = join(import.meta.dir, "../../src/system/linux.ts");
  const shell = 'touch "$1"; cat > "$0"; touch "$2"';
  const script = `
    const { LinuxHost } = await import(${JSON.stringify(source)});
    const argv = ${JSON.stringify(["sh", "-c", shell, input, waits, ended])};
    setInterval(() => {}, 1_000);
    await new LinuxHost().run(argv, { stdin: new Promise(() => {}) });
  `;
  const service = Bun.spawn([process.execPath, "-e", script]);
  try {
    await until(() => existsSync(`${waits}`));
    service.kill("SIGKILL");
    await until(() => existsSync(`${ended}`));
    expect(await new LinuxHost().read(`${input}`)).toBe("");
  } finally {
    service.kill("SIGKILL");
    rmSync(folder, { recursive: true });
  }
});

test("a sleep that is over leaves no listener on its signal, which may exist as long as the service", async () => {
  const host = new LinuxHost();
  const { signal } = new AbortController();
  for (let sleep = 0; sleep < 20; sleep++) await host.sleep(1, signal);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("a sleep ends when its signal is aborted, or at once if it already was", async () => {
  const host = new LinuxHost();
  const controller = new AbortController();
  const began = host.monotonic();
  const sleeping = host.sleep(60_000, controller.signal);
  controller.abort();
  await sleeping;
  await host.sleep(60_000, controller.signal);
  expect(host.monotonic() - began).toBeLessThan(30_000);
});

test("a program that prints events is heard on both outputs, and its end is reported after them", async () => {
  const lines: string[] = [];
  const ended = Promise.withResolvers<void>();
  const script = "echo an event; echo an error >&2";
  new LinuxHost().watch(["sh", "-c", script], (line) => lines.push(line), ended.resolve);
  await ended.promise;
  expect(lines.toSorted()).toEqual(["an error", "an event"]);
});

test("a program that prints events ends when this one is killed, though it has nothing to print", async () => {
  const source = join(import.meta.dir, "../../src/system/linux.ts");
  const script = `
    const { LinuxHost } = await import(${JSON.stringify(source)});
    new LinuxHost().watch(["sh", "-c", "echo $$; exec sleep 1000"], (line) => console.log(line), () => {});
  `;
  const service = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  const { value } = await service.stdout.getReader().read();
  const command = `/proc/${Number(new TextDecoder().decode(value))}/cmdline`;
  service.kill("SIGKILL");
  await service.exited;
  // There is none, or an empty one until the parent of the process has taken note of its end.
  while (await new LinuxHost().read(command)) await Bun.sleep(10);
});

const STRACE = Bun.which("strace");
test.skipIf(STRACE === null)(
  "a program that prints events runs even where the system refuses to end it with this one",
  async () => {
    const source = join(import.meta.dir, "../../src/system/linux.ts");
    const script = `
      const { LinuxHost } = await import(${JSON.stringify(source)});
      const host = new LinuxHost();
      const watch = () => host.watch(["echo", "an event"], (line) => console.log(line), watch);
      watch();
      setTimeout(() => process.exit(), 60_000);
    `;
    // As a service's filter of system calls does.
    const refused = [STRACE ?? "", "-f", "-qq", "-o", "/dev/null", "-e", "inject=capset:error=EPERM"];
    const argv = [...refused, process.execPath, "-e", script];
    const service = Bun.spawn(argv, { stdout: "pipe", detached: true });
    let printed = "";
    for await (const chunk of service.stdout.pipeThrough(new TextDecoderStream())) {
      printed += chunk;
      if (printed.includes("an event")) break;
    }
    expect(printed).toMatch(/^setpriv: .*Operation not permitted\nan event\n/);
    // What strace has traced goes on without it, and would take a processor for a minute.
    process.kill(-service.pid, "SIGKILL");
  },
);

/** Code and message of the error, or what the program printed. */
async function failureOf(argv: readonly string[], timeoutMs = 60_000): Promise<string> {
  const error: unknown = await new LinuxHost().run(argv, { timeoutMs }).catch((thrown: unknown) => thrown);
  return error instanceof GatewayError ? `${error.code}: ${error.message}` : String(error);
}

describe("a program", () => {
  test("that takes too long is killed, and its error is timed_out", async () => {
    expect(await failureOf(["sleep", "60"], 100)).toBe("timed_out: sleep 60 did not finish within 0.1 s");
  });

  test("whose child keeps its output open is not waited for", async () => {
    expect(await failureOf(["sh", "-c", "sleep 20 & sleep 60"], 100)).toStartWith("timed_out: ");
  });

  test("is not waited for once it has printed that its work is done, in however many pieces", async () => {
    const script = 'printf "work\\n# do"; printf "ne\\nmore\\n"; exec sleep 12';
    const host = new LinuxHost();
    const began = host.monotonic();
    let printing = 0;
    const onPrinting = () => {
      printing += 1;
    };
    const output = await host.run(["sh", "-c", script], { until: "\n# done", timeoutMs: 10_000, onPrinting });
    expect(output).toStartWith("work\n# done");
    expect(printing).toBe(1);
    expect(host.monotonic() - began).toBeLessThan(10_000);
  });

  test("is not waited for once it has printed that it has failed", async () => {
    const host = new LinuxHost();
    const began = host.monotonic();
    const script = 'echo "Error: no such table" >&2; exec sleep 12';
    const run = host.run(["sh", "-c", script], { failure: "Error: ", timeoutMs: 10_000 });
    await expect(run).rejects.toThrow("sh -c failed: Error: no such table");
    expect(host.monotonic() - began).toBeLessThan(10_000);
  });

  test("that ends before it has printed that is judged by its end", async () => {
    const run = (script: string) => new LinuxHost().run(["sh", "-c", script], { until: "\n# done" });
    expect(await run("echo whole")).toBe("whole\n");
    await expect(run("echo half; exit 3")).rejects.toThrow("sh -c failed: half");
  });

  test("that is killed by another one has not timed out", async () => {
    expect(await failureOf(["sh", "-c", "kill -9 $$"])).toBe("unable: sh -c failed (SIGKILL)");
  });

  test("that cannot be started is called missing only if it is", async () => {
    expect(await failureOf(["no-such-program"])).toBe(
      "unable: no-such-program cannot be started: is it installed?",
    );
    expect(await failureOf(["/dev/null"])).toBe("unable: /dev/null cannot be started: EACCES");
  });

  test("that fails gives the reason, not its last line", async () => {
    const script = 'echo "Cannot find device \\"wg0\\"" >&2; echo "Command failed -:1" >&2; exit 1';
    expect(await failureOf(["sh", "-c", script])).toBe('unable: sh -c failed: Cannot find device "wg0"');
    expect(await failureOf(["sh", "-c", "exit 3"])).toBe("unable: sh -c failed (exit 3)");
  });

  needsNamespaces.test("of the kernel that fails was refused by the kernel", async () => {
    const failure = await failureOf(["ip", "link", "show", "dev", "nonesuch0"]);
    expect(failure).toBe('kernel_refused: ip link failed: Device "nonesuch0" does not exist.');
  });
});
