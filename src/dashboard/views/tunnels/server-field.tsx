import { useMemo } from "preact/hooks";
import type { Provider } from "../../../servers/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { say } from "../../language.ts";
import { Field } from "../../parts/field.tsx";
import type { Option } from "../../parts/option.ts";
import { type Target, targetsIn } from "./targets.ts";

export const PROVIDERS: readonly Option<Provider>[] = [
  { value: "managed", text: say("VPN account · from your VPN provider’s list") },
  { value: "custom", text: say("Your own · added by hand") },
  { value: "imported", text: say("Imported · from WireGuard files") },
];

/** More are of no use to someone who reads them; a longer text leaves fewer. */
const MAX_SUGGESTIONS = 20;

interface ServerFieldProps {
  label: string;
  hint?: string | undefined;
  provider: Provider;
  value: string;
  onValue: (value: string) => void;
  isOptional?: true;
  /** As the form's errors call it. */
  name?: string;
  fault?: string | null;
}

/** A server or a place, with those suggested that are known and contain what was typed. */
export function ServerField({ provider, isOptional, ...field }: ServerFieldProps) {
  const { value } = field;
  const servers = knownOf(useAnswer("servers"));
  const favourites = knownOf(useAnswer("favourites"));
  // There may be thousands of servers, and several such fields.
  const found = useMemo(() => {
    const typed = value.toLowerCase();
    const isIt = ({ name, detail }: Target) => `${name} ${detail}`.toLowerCase().includes(typed);
    return targetsIn(provider, servers, favourites)
      .filter(isIt)
      .slice(0, MAX_SUGGESTIONS)
      .map(({ name, detail }) => ({ value: name, text: detail }));
  }, [provider, value, servers, favourites]);
  return <Field {...field} suggestions={found} required={isOptional !== true} />;
}
