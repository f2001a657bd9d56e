import type { Provider } from "../servers/schema.ts";
import { say } from "./language.ts";

/** The kinds of servers, for choices. */
export const PROVIDER_TITLES: Readonly<Record<Provider, string>> = {
  managed: say("VPN account"),
  custom: say("Your own"),
  imported: say("Imported"),
};
