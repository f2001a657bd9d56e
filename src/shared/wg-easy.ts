/** What `wg0.json` of wg-easy has of a client, the private key included: it is to leave neither the browser nor the command line. */
export interface WgEasyClient {
  name: string;
  privateKey: string;
}

export interface WgEasyFile {
  clients: readonly WgEasyClient[];
  /** The names of those that cannot come over: they are disabled, or have no private key. */
  left: readonly string[];
}

const KEY = /^[A-Za-z0-9+/]{43}=$/;

/** The clients of wg-easy; null if the text is no such file. */
export function wgEasyIn(text: string): WgEasyFile | null {
  const file = jsonIn(text) as { clients?: unknown } | null;
  if (typeof file?.clients !== "object" || file.clients === null) return null;
  const all = Object.values(file.clients).map(clientIn);
  if (all.length === 0 || all.some((each) => each === null)) return null;
  const known = all.filter((each) => each !== null);
  const clients = known.filter(({ isEnabled, privateKey }) => isEnabled && KEY.test(privateKey));
  return {
    clients: clients.map(({ name, privateKey }) => ({ name, privateKey })),
    left: known.filter((each) => !clients.includes(each)).map(({ name }) => name),
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function clientIn(given: unknown): (WgEasyClient & { isEnabled: boolean }) | null {
  if (typeof given !== "object" || given === null) return null;
  const { name, privateKey, enabled } = given as Record<string, unknown>;
  if (typeof name !== "string") return null;
  return {
    name: name.trim().normalize("NFC"),
    privateKey: typeof privateKey === "string" ? privateKey : "",
    isEnabled: enabled !== false,
  };
}
