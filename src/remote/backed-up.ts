import type { BackedUp } from "../base/saved.ts";
import { formatEndpoint } from "../wireguard/config-text.ts";
import { REMOTE_DECISION, REMOTE_PRIVATE_KEY } from "./saved.ts";

/** What backups have of remote access besides its devices. */
export const REMOTE_ACCESS: BackedUp = {
  key: REMOTE_DECISION.key,
  isValid: (text) => REMOTE_DECISION.parse(text) !== null,
  merge: (_, given) => given,
  changes: (here, then) => {
    const [before, after] = [wordsOf(here), wordsOf(then)];
    return before === after
      ? []
      : [{ what: "remote access", name: "", before, after, replaces: before !== null }];
  },
};

/** Keys are compared, and not told. */
export const REMOTE_KEY: BackedUp = {
  key: REMOTE_PRIVATE_KEY.key,
  isValid: (text) => REMOTE_PRIVATE_KEY.parse(text) !== null,
  merge: (_, given) => given,
  changes: (here, then) => {
    if (here === then || then === null) return [];
    const before = here === null ? null : "a key";
    const after = here === null ? "a key" : "another key";
    return [{ what: "key for remote access", name: "", before, after, replaces: before !== null }];
  },
};

function wordsOf(text: string | null): string | null {
  const access = REMOTE_DECISION.parse(text);
  if (access === null) return null;
  const { on, port, through, forwarded, endpoint, ipv4 } = access;
  const asked = forwarded === undefined ? "" : ", at a port of its provider";
  const way = through === null ? "by the uplink" : `by the tunnel ${through}${asked}`;
  const called = endpoint === null ? "" : `, called ${formatEndpoint(endpoint.host, endpoint.port)}`;
  return `${on ? "on" : "off"}, port ${port} ${way}${called}, in ${ipv4}`;
}
