/** The words that people read for the interface's names. The page, the command line and messages use them. */

/**
 * The kinds of servers. `word` is what people type; the command line takes the interface's name too. `servers` is for
 * sentences, `title` for choices, `origin` says where they come from.
 */
export const PROVIDER_WORDS = {
  managed: {
    word: "account",
    title: "VPN account",
    servers: "the VPN account's servers",
    origin: "from your VPN provider's list",
  },
  custom: { word: "own", title: "Your own", servers: "your own servers", origin: "added by hand" },
  imported: {
    word: "imported",
    title: "Imported",
    servers: "the imported servers",
    origin: "from WireGuard files",
  },
} as const;

/** What a network blocks, if a server is reached in another way than by plain WireGuard. */
export const BLOCKED_WORDS = {
  wireguard: "WireGuard is recognised and blocked here",
  udp: "UDP is blocked here",
  flows: "UDP is cut off here after a while",
} as const;

type Provider = keyof typeof PROVIDER_WORDS;

/** The kind of servers that a person has typed, by its word or by the interface's name. */
export function providerIn(text: string): Provider | null {
  const names = Object.keys(PROVIDER_WORDS) as Provider[];
  return names.find((name) => name === text || PROVIDER_WORDS[name].word === text) ?? null;
}

/** Follows "the": "main tunnel", "tunnel tv". */
export function tunnelTitle(name: string): string {
  return name === "main" ? "main tunnel" : `tunnel ${name}`;
}

/** Follows a tunnel's title. */
export const STATE_WORDS = {
  disconnected: "is disconnected",
  connecting: "is connecting",
  connected: "is connected",
  reconnecting: "is reconnecting",
  failed: "has failed",
} as const;

/** A text as the beginning of a sentence or a title. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The gateway's errors have no full stop, and begin in lower case or with a name, which stays as it is. */
export function sentenceFrom(text: string): string {
  const begun = /^[a-z]+[,:]?( |$)/.test(text) ? capital(text) : text;
  return /[.!?。]$/.test(begun) ? begun : `${begun}.`;
}
