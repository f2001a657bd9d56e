import { mustParseAddress } from "../base/address.ts";
import { deletionOf, listedAddresses, listedLinks } from "./listed-links.ts";
import { listedNeighbours } from "./listed-neighbours.ts";
import { listedRoutes, routeTo } from "./listed-routes.ts";
import { Rtnetlink } from "./rtnetlink.ts";

type Words = Readonly<Record<string, string | undefined>>;
type Rows = Promise<readonly unknown[] | null>;

/** What `ip -j` is asked for, and who answers in its place. */
const QUESTIONS: readonly [RegExp, (kernel: Rtnetlink, words: Words) => Rows][] = [
  [/^(-d )?link show( master (?<master>\S+))?$/, (kernel, { master }) => listedLinks(kernel, { master })],
  [/^address show( dev (?<link>\S+))?$/, (kernel, { link }) => listedAddresses(kernel, { link })],
  [
    /^-(?<family>[46]) address show( dev (?<link>\S+))?(?<scope> scope link)?$/,
    (kernel, { family, link, scope }) =>
      listedAddresses(kernel, { family: familyIn(family), link, isLinkScope: scope !== undefined }),
  ],
  [
    /^-(?<family>[46]) route show(?<isDefault> default)?( table (?<table>all|\d+))?$/,
    (kernel, { family, isDefault, table }) =>
      listedRoutes(kernel, { family: familyIn(family), isDefault: isDefault !== undefined, table }),
  ],
  [
    /^route get (?<address>\S+) mark (?<mark>\d+)$/,
    async (kernel, { address = "", mark }) => {
      const route = await routeTo(kernel, mustParseAddress(address), Number(mark));
      return route && [route];
    },
  ],
  [/^-s neigh show$/, (kernel) => listedNeighbours(kernel)],
];

/**
 * What `ip -j` would list, from the kernel itself: a program takes milliseconds to start. Null if only `ip` can tell,
 * such as why the kernel refuses. Rules are `ip`'s: it reads them as it writes them, also where the leak suite gives the
 * service an `ip` whose rules are elsewhere, to see what the firewall holds alone.
 */
export async function listed(words: readonly string[]): Promise<readonly unknown[] | null> {
  const text = words.join(" ");
  for (const [asked, answer] of QUESTIONS) {
    const found = asked.exec(text);
    if (found === null) continue;
    using kernel = Rtnetlink.open();
    return kernel && (await answer(kernel, found.groups ?? {}));
  }
  return null;
}

/** Removes a link with all that is on it. The kernel may wait for its last packets. False if it refuses. */
export async function deleteLink(name: string): Promise<boolean> {
  using kernel = Rtnetlink.open();
  return kernel !== null && (await kernel.change(deletionOf(name)));
}

function familyIn(word: string | undefined): 4 | 6 {
  return word === "6" ? 6 : 4;
}
