import { CommandError } from "../base/errors.ts";
import { FLAGS } from "../base/flags.ts";
import { askOperator } from "../operator/operator.ts";
import { readSecret } from "./secret.ts";

/** An environment variable, because anyone can read a command line. */
const VARIABLE = "PORTCULLIS_TOKEN";

/** The token of the file, or else of the environment; null without either. */
export async function givenToken(file: string | undefined): Promise<string | null> {
  const text = file === undefined ? process.env[VARIABLE] : await readSecret(file, "--token-file");
  if (text === undefined || text === "") return null;
  const token = text.trim();
  // A header can contain nothing else (RFC 6750, section 2.1).
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(token)) return token;
  throw new CommandError("bad_request", `${file === undefined ? VARIABLE : "--token-file"}: is not a token`);
}

/** The token of root's own commands, if the gateway of this machine answers at this address; null otherwise. */
export async function ownToken(origin: string): Promise<string | null> {
  if (process.getuid?.() !== 0) return null;
  const { variable, fallback } = FLAGS.stateDir;
  const own = await askOperator(process.env[variable] ?? fallback, "token/own", null).catch(() => null);
  // Another address may belong to another program.
  return own?.answer?.origin === origin ? own.answer.token : null;
}
