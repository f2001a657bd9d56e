import { BUN_PARTS } from "./bun.ts";
import { notices, ownLicense } from "./notices.ts" with { type: "macro" };

/** The licenses of everything in this executable, as `portcullis licenses` prints them. */
export function licensesText(): string {
  const packages = notices();
  return [
    `Portcullis is one executable with the parts of others. Its own license:\n\n${ownLicense()}`,
    BUN,
    MAKERS,
    "## npm packages",
    ...packages.map(({ name, version, license, text }) => `### ${name} ${version} (${license})\n\n${text}`),
  ]
    .join("\n\n")
    .concat("\n");
}

const MAKERS = `## IEEE's list of MAC addresses (public domain)

The names of makers are from Debian's package ieee-data, 2022. IEEE does not assert any copyright in its public listing.

## Natural Earth (public domain)

The outlines of the page's map, simplified.`;

const BUN = `## Bun ${Bun.version} (MIT)

Copyright the Bun authors, https://github.com/oven-sh/bun. It is linked with JavaScriptCore and tinycc, whose license, the LGPL, gives you the right to replace them: Bun's LICENSE.md says how to relink Bun, and \`bun build --compile-executable-path\` makes Portcullis with a Bun of your own. On Debian, /usr/share/common-licenses has the texts of the LGPL and of the Apache license. The parts of Bun:

${BUN_PARTS.map(([name, license, source]) => `- ${name}: ${license}, ${source}`).join("\n")}`;
