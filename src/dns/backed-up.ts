import { checkerOf } from "../base/checker.ts";
import { type BackedUp, rowChanges } from "../base/saved.ts";
import { MAX_EXCEPTIONS, MAX_LISTS } from "../shared/bounds.ts";
import { DnsListsBody } from "./schema.ts";
import { DNS_LISTS, wantedLists } from "./wanted-lists.ts";

const known = checkerOf(DnsListsBody);

/** What backups have of the lists of blocked names. The lists themselves are fetched again. */
export const BLOCK_LISTS: BackedUp = {
  key: DNS_LISTS.key,
  isValid: (text) => {
    const body = known.read(text);
    return body !== null && isPossible(body);
  },
  merge: (here, given) => {
    const [before, after] = [DNS_LISTS.parse(here), DNS_LISTS.parse(given)];
    const urls = new Set(after.lists.map(({ url }) => url));
    const lists = [...after.lists, ...before.lists.filter(({ url }) => !urls.has(url))];
    const both = (names: "exceptions" | "private_names") =>
      [...new Set([...(after[names] ?? []), ...(before[names] ?? [])])].slice(0, MAX_EXCEPTIONS);
    const privateNames = both("private_names");
    return JSON.stringify({
      lists: lists.slice(0, MAX_LISTS),
      exceptions: both("exceptions"),
      ...(privateNames.length > 0 && { private_names: privateNames }),
      ...((before.block_doh || after.block_doh) && { block_doh: true }),
    });
  },
  changes: (here, then) => [
    ...rowChanges("list of blocked names", listsIn(here), listsIn(then)),
    ...rowChanges("name that no list blocks", namesIn(here, "exceptions"), namesIn(then, "exceptions")),
    ...rowChanges(
      "name that may have addresses of the home",
      ...[namesIn(here, "private_names"), namesIn(then, "private_names")],
    ),
    ...rowChanges("block of resolvers that answer by HTTPS", dohIn(here), dohIn(then)),
  ],
};

function isPossible(body: DnsListsBody): boolean {
  try {
    wantedLists(body);
    return true;
  } catch {
    return false;
  }
}

function listsIn(text: string | null): Map<string, string> {
  return new Map(
    DNS_LISTS.parse(text).lists.map(({ url, devices = [], on = true }) => [
      url,
      `for ${devices.length === 0 ? "all devices" : devices.join(", ")}${on ? "" : ", off"}`,
    ]),
  );
}

function dohIn(text: string | null): Map<string, string> {
  return new Map(DNS_LISTS.parse(text).block_doh === true ? [["their names", "blocked"]] : []);
}

function namesIn(text: string | null, names: "exceptions" | "private_names"): Map<string, string> {
  return new Map((DNS_LISTS.parse(text)[names] ?? []).map((name) => [name.toLowerCase(), "open"]));
}
