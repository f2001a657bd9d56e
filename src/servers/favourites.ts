import type { Bus } from "../base/bus.ts";
import { isName, nameIn } from "../base/name.ts";
import { listIn, SavedList, type Texts } from "../base/saved.ts";
import { PROVIDER_WORDS } from "../shared/words.ts";
import type { Catalogue } from "./catalogue.ts";
import { refused } from "./refusals.ts";
import { Favourite, type Provider } from "./schema.ts";

const storedIn = listIn(Favourite);

export const FAVOURITES = new SavedList<Favourite>({
  key: "favourites",
  what: "favourite",
  /** Anyone on the LAN may add some; all of them take 30 KB at most. */
  max: 100,
  maxCharacters: 400,
  entriesIn: (text) => storedIn(text).filter(({ server }) => isName(server)),
  format: JSON.stringify,
  nameOf: ({ provider, server }) => `${server} (${PROVIDER_WORDS[provider].word})`,
  // Nothing more is known of one.
  wordsOf: () => "marked",
  merge: (here, given) => [...here, ...given],
});

/** The servers that people have marked, in the order in which they were marked. */
export class Favourites {
  constructor(
    private readonly store: Texts,
    private readonly catalogue: Pick<Catalogue, "has" | "onChange">,
    private readonly events: Pick<Bus<{ favourites_update: { count: number } }>, "publish">,
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
    if (saved.some((each) => Bun.deepEquals(each, favourite))) return;
    const kept = saved.length < FAVOURITES.max ? saved : this.list();
    if (kept.length >= FAVOURITES.max)
      throw refused("limit_reached", { field: "server", of: "favourites", max: FAVOURITES.max });
    this.save([...kept, favourite]);
  }

  remove(provider: Provider, name: string): void {
    const favourite = { provider, server: nameIn("server", name) };
    const { saved } = this;
    const others = saved.filter((each) => !Bun.deepEquals(each, favourite));
    if (others.length < saved.length) this.save(others);
    else this.refuseUnknown(favourite);
  }

  private get saved(): readonly Favourite[] {
    return FAVOURITES.read(this.store);
  }

  private save(favourites: readonly Favourite[]): void {
    FAVOURITES.write(this.store, favourites);
    this.events.publish({ type: "favourites_update", payload: { count: favourites.length } });
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
      throw refused("server_unknown", {
        field: "server",
        kind: "server",
        of: favourite.provider,
        meant: "none",
      });
  }
}
