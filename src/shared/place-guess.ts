/**
 * Where a server is, by what its file is called: providers put the country's code and the city's name, or its short form,
 * into it. Null if nothing tells; "is-this" is not in Iceland.
 */
export function placeIn(fileName: string): string | null {
  const words = fileName.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
  const city = cityIn(words);
  if (city !== null) return `${city.name}, ${countryOf(city.country)}`;
  const code = words.find((word, at) => isCode(word, words[at + 1] ?? "", at === 0));
  if (code !== undefined) return countryOf(code.slice(0, CODE_LETTERS).toUpperCase());
  return countryIn(words);
}

const CODE_LETTERS = 2;
const ENGLISH = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
/** What people and providers write, and what ISO 3166 has. */
const ALIASES: Readonly<Record<string, string>> = { UK: "GB" };

/** The names that the lists have; the English ones of the platform but for these. */
const LISTED: Readonly<Record<string, string>> = {
  US: "USA",
  GB: "UK",
  CZ: "Czech Republic",
  HK: "Hong Kong",
};

function countryOf(code: string): string {
  const known = ALIASES[code] ?? code;
  return LISTED[known] ?? ENGLISH.of(known) ?? known;
}

/** "SE", or "se" where a number or the short form of a city follows, or in it: "se-got-001", "us12". */
function isCode(word: string, next: string, isFirst: boolean): boolean {
  const [, letters = "", digits] = /^([A-Za-z]{2})(\d*)$/.exec(word) ?? [];
  const code = letters.toUpperCase();
  if (code === "" || (ENGLISH.of(ALIASES[code] ?? code) ?? "") === "" || code === "WG") return false;
  const isShouted = letters === code;
  return isShouted || digits !== "" || (isFirst && /^\d+$/.test(next));
}

/** A country by its English name: "sweden", "new-zealand". */
function countryIn(words: readonly string[]): string | null {
  const text = plain(words.join(" "));
  const found = COUNTRY_NAMES.find((name) => new RegExp(`\\b${plain(name)}\\b`).test(text));
  return found ?? null;
}

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** The longest first: "Guinea" is a part of "Papua New Guinea". */
const COUNTRY_NAMES = LETTERS.flatMap((one) => LETTERS.flatMap((two) => ENGLISH.of(`${one}${two}`) ?? []))
  .filter((name) => /^[\p{L} ]+$/u.test(name))
  .toSorted((one, two) => two.length - one.length);

interface City {
  name: string;
  country: string;
}

function cityIn(words: readonly string[]): City | null {
  const text = ` ${plain(words.join(" "))} `;
  for (const [name, country, short] of CITIES) {
    if (text.includes(` ${plain(name)} `) || text.includes(` ${plain(name).replaceAll(" ", "")} `))
      return { name, country };
    if (text.includes(` ${country.toLowerCase()} ${short} `)) return { name, country };
  }
  return null;
}

function plain(text: string): string {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Cities with many servers: each with its country and the short form that follows it in Mullvad's names. */
const CITIES: readonly (readonly [name: string, country: string, short: string])[] = [
  ["Tirana", "AL", "tia"],
  ["Adelaide", "AU", "adl"],
  ["Brisbane", "AU", "bne"],
  ["Melbourne", "AU", "mel"],
  ["Perth", "AU", "per"],
  ["Sydney", "AU", "syd"],
  ["Vienna", "AT", "vie"],
  ["Brussels", "BE", "bru"],
  ["Sao Paulo", "BR", "sao"],
  ["Sofia", "BG", "sof"],
  ["Calgary", "CA", "yyc"],
  ["Montreal", "CA", "mtr"],
  ["Toronto", "CA", "tor"],
  ["Vancouver", "CA", "van"],
  ["Zurich", "CH", "zrh"],
  ["Geneva", "CH", "gva"],
  ["Santiago", "CL", "scl"],
  ["Bogota", "CO", "bog"],
  ["Zagreb", "HR", "zag"],
  ["Nicosia", "CY", "nic"],
  ["Prague", "CZ", "prg"],
  ["Berlin", "DE", "ber"],
  ["Dusseldorf", "DE", "dus"],
  ["Frankfurt", "DE", "fra"],
  ["Copenhagen", "DK", "cph"],
  ["Tallinn", "EE", "tll"],
  ["Barcelona", "ES", "bcn"],
  ["Madrid", "ES", "mad"],
  ["Valencia", "ES", "vlc"],
  ["Helsinki", "FI", "hel"],
  ["Marseille", "FR", "mrs"],
  ["Paris", "FR", "par"],
  ["Bordeaux", "FR", "bod"],
  ["London", "GB", "lon"],
  ["Manchester", "GB", "mnc"],
  ["Glasgow", "GB", "glw"],
  ["Athens", "GR", "ath"],
  ["Hong Kong", "HK", "hkg"],
  ["Budapest", "HU", "bud"],
  ["Jakarta", "ID", "jpu"],
  ["Dublin", "IE", "dub"],
  ["Tel Aviv", "IL", "tlv"],
  ["Mumbai", "IN", "bom"],
  ["Reykjavik", "IS", "rkv"],
  ["Milan", "IT", "mil"],
  ["Palermo", "IT", "pmo"],
  ["Rome", "IT", "rom"],
  ["Osaka", "JP", "osa"],
  ["Tokyo", "JP", "tyo"],
  ["Seoul", "KR", "sel"],
  ["Vilnius", "LT", "vno"],
  ["Luxembourg", "LU", "lux"],
  ["Riga", "LV", "rix"],
  ["Chisinau", "MD", "kiv"],
  ["Queretaro", "MX", "qro"],
  ["Kuala Lumpur", "MY", "kul"],
  ["Amsterdam", "NL", "ams"],
  ["Oslo", "NO", "osl"],
  ["Stavanger", "NO", "svg"],
  ["Auckland", "NZ", "akl"],
  ["Lima", "PE", "lim"],
  ["Manila", "PH", "mnl"],
  ["Warsaw", "PL", "waw"],
  ["Lisbon", "PT", "lis"],
  ["Bucharest", "RO", "buh"],
  ["Belgrade", "RS", "beg"],
  ["Gothenburg", "SE", "got"],
  ["Malmo", "SE", "mma"],
  ["Stockholm", "SE", "sto"],
  ["Singapore", "SG", "sin"],
  ["Ljubljana", "SI", "lju"],
  ["Bratislava", "SK", "bts"],
  ["Bangkok", "TH", "bkk"],
  ["Istanbul", "TR", "ist"],
  ["Kyiv", "UA", "iev"],
  ["Ashburn", "US", "qas"],
  ["Atlanta", "US", "atl"],
  ["Boston", "US", "bos"],
  ["Chicago", "US", "chi"],
  ["Dallas", "US", "dal"],
  ["Denver", "US", "den"],
  ["Detroit", "US", "det"],
  ["Houston", "US", "hou"],
  ["Los Angeles", "US", "lax"],
  ["Miami", "US", "mia"],
  ["New York", "US", "nyc"],
  ["Phoenix", "US", "phx"],
  ["Salt Lake City", "US", "slc"],
  ["San Francisco", "US", "sfo"],
  ["San Jose", "US", "sjc"],
  ["Seattle", "US", "sea"],
  ["Johannesburg", "ZA", "jnb"],
];
