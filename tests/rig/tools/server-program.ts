import { commandIn } from "../../../src/sandbox/namespace.ts";

/** Starts a program in a namespace, and returns once it says that it is listening. */
export async function startServer(
  namespace: string,
  argv: readonly string[],
  env: Record<string, string | undefined> = process.env,
): Promise<Bun.Subprocess> {
  const child = Bun.spawn(commandIn(namespace, [...argv]), {
    ...{ stdin: "ignore", stdout: "pipe", stderr: "inherit", env },
  });
  const output = child.stdout.getReader();
  for (let said = ""; !said.includes("listening"); ) {
    const { value, done } = await output.read();
    if (done) throw new Error(`${argv.join(" ")} has ended: ${said}`);
    said += new TextDecoder().decode(value);
  }
  return child;
}
