/** A list of names that others keep, which a person can choose without its address. */
export interface BlockList {
  about: "advertisements" | "more" | "malware" | "adults";
  url: string;
  /** Who keeps it. */
  keeper: string;
  /** The SPDX identifier of its license. The lists that it is collected from have their own. */
  license: string;
  /** About how many names it has. Steven Black's two had 149,038 together in October 2026. */
  names: number;
}

const STEVEN_BLACK = "https://raw.githubusercontent.com/StevenBlack/hosts/master";

export const BLOCK_LISTS: readonly BlockList[] = [
  {
    about: "advertisements",
    url: "https://small.oisd.nl/",
    keeper: "OISD small",
    license: "GPL-3.0",
    names: 56_000,
  },
  {
    about: "more",
    url: `${STEVEN_BLACK}/hosts`,
    keeper: "Steven Black",
    license: "MIT",
    names: 70_000,
  },
  {
    about: "malware",
    url: "https://urlhaus.abuse.ch/downloads/hostfile/",
    keeper: "URLhaus",
    license: "CC0-1.0",
    names: 600,
  },
  {
    about: "adults",
    url: `${STEVEN_BLACK}/alternates/porn-only/hosts`,
    keeper: "Steven Black",
    license: "MIT",
    names: 80_000,
  },
];
