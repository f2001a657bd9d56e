import { type BackedUp, rowChanges } from "../base/saved.ts";
import { MAX_EXCEPTIONS, MAX_LISTS } from "../shared/bounds.ts";
import { DNS_LISTS, wantedLists } from "./wanted-lists.ts";

/** What backups have of the lists of blocked names. The lists themselves are fetched again. */
export const BLOCK_LISTS: BackedUp = {
  key: DNS_LISTS.key,
  isValid: (text) => DNS_LISTS.isValid(text),
  merge: (here, given) => {
    const [before, after] = [DNS_LISTS.parse(here), DNS_LISTS.parse(given)];
    const urls = new Set(wantedLists(after).lists.map(({ url }) => url));
    const others = wantedLists(before).lists.map(({ url }) => urls.has(url));
    const lists = [...after.lists, ...before.lists.filter((_, at) => !others[at])];
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

function listsIn(text: string | null): Map<string, string> {
  return new Map(
    wantedLists(DNS_LISTS.parse(text)).lists.map(({ url, devices, on }) => [
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
