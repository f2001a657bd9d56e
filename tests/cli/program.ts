import { machineIn } from "../../src/sandbox/namespace.ts";
import { PROGRAM } from "../rig/tools/program.ts";

export interface Run {
  code: number;
  stdout: string;
  stderr: string;
}

interface Surroundings {
  stdin?: string;
  env?: Record<string, string>;
  /** The network namespace whose machine it runs on, if not this machine's. */
  namespace?: string;
}

/** The command that starts the program. */
export function commandLine(...args: string[]): string[] {
  return [...PROGRAM, ...args];
}

/** Runs the program with pipes, for the gateway at `port`. */
export async function run(port: number, args: readonly string[], around: Surroundings = {}): Promise<Run> {
  const { namespace } = around;
  const command = commandLine(...args);
  const child = Bun.spawn(namespace === undefined ? command : machineIn(namespace, command), {
    env: environment(port, around.env),
    stdin: new TextEncoder().encode(around.stdin ?? ""),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** Runs the program at a terminal; returns what it shows and a way to type. */
export function atTerminal(port: number, args: readonly string[], env: Record<string, string> = {}) {
  let screen = "";
  const child = Bun.spawn(commandLine(...args), {
    env: { ...environment(port, env), TERM: "xterm" },
    terminal: {
      cols: 60,
      rows: 20,
      data: (_, bytes) => {
        screen += new TextDecoder().decode(bytes);
      },
    },
  });
  return {
    exited: child.exited,
    type: (keys: string) => child.terminal?.write(keys),
    end: () => child.kill("SIGKILL"),
    screen: () => screen,
    /** Waits until the screen shows the text. */
    shows: async (text: string) => {
      while (!screen.includes(text)) {
        if (child.exitCode !== null) throw new Error(`the program ended without ${text}: ${screen}`);
        await Bun.sleep(10);
      }
    },
  };
}

function environment(port: number, env: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? "", PORTCULLIS_URL: `http://127.0.0.1:${port}`, ...env };
}
