import { checkerOf, listIn } from "../base/checker.ts";
import { GatewayError } from "../base/errors.ts";
import { isName, nameIn } from "../base/name.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import type { Catalogue } from "./catalogue.ts";
import { Favourite, type Provider } from "./schema.ts";
import type { Storage } from "./storage.ts";

/** Anyone on the LAN may add some. All of them take 30 KB at most. */
const MAX_FAVOURITES = 100;

/** The setting that has the favourites. */
const KEY = "favourites";

const favouriteSchema = checkerOf(Favourite);

/** The servers that people have marked, in the order in which they were marked. */
export class Favourites {
  constructor(
    private readonly store: Pick<Storage, "read" | "write">,
    private readonly catalogue: Pick<Catalogue, "has" | "onChange">,
    private readonly onChange: (count: number) => void,
  ) {
    // The list of the VPN account's servers is ignored: if it cannot be read, it is empty for now, and may be read
    // again later.
    catalogue.onChange((provider) => provider !== "managed" && this.dropMissing(provider));
  }

  /** The favourites without those that a provider no longer lists. */
  list(): Favourite[] {
    return this.saved.filter((each) => this.exists(each));
  }

  add(provider: Provider, name: string): void {
    const favourite = { provider, server: nameIn("server", name) };
    this.refuseUnknown(favourite);
    const { saved } = this;
    if (saved.some((each) => isSame(each, favourite))) return;
    const kept = saved.length < MAX_FAVOURITES ? saved : this.list();
    if (kept.length >= MAX_FAVOURITES)
      throw new GatewayError(
        "bad_request",
        `server: there are ${MAX_FAVOURITES} favourites, the maximum; remove one first`,
      );
    this.save([...kept, favourite]);
  }

  remove(provider: Provider, name: string): void {
    const favourite = { provider, server: nameIn("server", name) };
    const { saved } = this;
    const others = saved.filter((each) => !isSame(each, favourite));
    if (others.length < saved.length) this.save(others);
    else this.refuseUnknown(favourite);
  }

  private get saved(): Favourite[] {
    return favouritesIn(this.store.read(KEY));
  }

  private save(favourites: readonly Favourite[]): void {
    this.store.write(KEY, JSON.stringify(favourites));
    this.onChange(favourites.length);
  }

  /** Otherwise another server that is given the name later would be a favourite. */
  private dropMissing(provider: Provider): void {
    const { saved } = this;
    const others = saved.filter((each) => each.provider !== provider || this.exists(each));
    if (others.length === saved.length) return;
    try {
      this.save(others);
    } catch {
      // The change of the servers has been saved, and must not fail because of this.
    }
  }

  private exists({ provider, server }: Favourite): boolean {
    return this.catalogue.has(provider, server);
  }

  private refuseUnknown(favourite: Favourite): void {
    if (!this.exists(favourite))
      throw new GatewayError(
        "not_found",
        `server: there is no server of this name among ${PROVIDER_WORDS[favourite.provider].servers}`,
      );
  }
}

/** Whether the value of the setting is one that the gateway could have written. */
export function areFavourites(text: string): boolean {
  return JSON.stringify(favouritesIn(text)) === text;
}

/** The favourites in words. Each is identified by its server, because nothing more is known about it. */
export function favouriteRows(text: string | null): ReadonlyMap<string, string> {
  return new Map(
    favouritesIn(text).map(({ provider, server }) => [
      `${server} (${PROVIDER_WORDS[provider].word})`,
      "marked",
    ]),
  );
}

/** The value of the setting that has the favourites of both values. */
export function unitedFavourites(one: string | null, other: string): string {
  const first = favouritesIn(one);
  const more = favouritesIn(other).filter((each) => !first.some((known) => isSame(known, each)));
  return JSON.stringify([...first, ...more].slice(0, MAX_FAVOURITES));
}

/** The valid favourites of a setting's value. */
function favouritesIn(text: string | null): Favourite[] {
  const found: Favourite[] = [];
  for (const each of listIn(text)) {
    if (!favouriteSchema.Check(each) || !isName(each.server)) continue;
    if (!found.some((known) => isSame(known, each))) found.push(each);
  }
  return found.slice(0, MAX_FAVOURITES);
}

function isSame(one: Favourite, other: Favourite): boolean {
  return one.provider === other.provider && one.server === other.server;
}
