import type { Destination } from "../../../destinations/schema.ts";
import type { DeviceList } from "../../../devices/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import type { Tone } from "../../../shared/verdict-texts.ts";
import { change, pathOf } from "../../api.ts";
import { inItsWords } from "../../codes.ts";
import { targetText } from "../../destination.ts";
import { say } from "../../language.ts";
import { AutosaveSelect } from "../../parts/autosave-select.tsx";
import type { Question } from "../../parts/dialog.tsx";
import { Remove, Row } from "../../parts/row.tsx";
import { Told } from "../../parts/told.tsx";
import { useExitOptions } from "../../protection.ts";
import { type Audience, whomOf } from "./whom.ts";

interface RowProps {
  rule: Destination;
  /** Null until it is known. */
  list: DeviceList | null;
}

/** To where, for whom, by which exit, and whether that carries traffic now. */
export function RuleRow({ rule, list }: RowProps) {
  const { id, exit, devices, note, open, warning } = rule;
  const optionsOf = useExitOptions();
  const path = pathOf("destinations", id);
  const [to, whom] = [targetText(rule), whomOf(devices, list?.devices ?? [])];
  const audience = say("For {whose, select, all {all devices} other {{who}}}", { ...whom });
  const exits = [...new Set([...(list?.exits ?? []), exit])];
  return (
    <Row
      icon={isOutside(exit) ? "warning" : open ? "shield" : "blocked"}
      tone={toneOf(rule)}
      name={to}
      facts={[
        note === "" ? audience : `${audience} · ${note}`,
        warning !== null && (
          <span class="destination-warning">
            <Told text={inItsWords(warning)} />
          </span>
        ),
      ]}
      actions={
        <Remove
          label={say("Remove the rule for {to}", { to })}
          work={async () => void (await change("DELETE", path))}
          title={say("Remove this rule?")}
          text={say(
            "Traffic to {to} then takes the exit of its device again, for {whose, select, all {all devices} other {{who}}}. Connections that have another exit then are cut.",
            { ...whom, to },
          )}
        />
      }
    >
      <AutosaveSelect
        label={say("Exit of the traffic to {to}", { to })}
        value={exit}
        options={optionsOf(exits)}
        from={rule}
        save={async (next) => void (await change("PATCH", path, { exit: next }))}
        ask={(next) => (isOutside(next) ? questionAbout(to, whom) : null)}
      />
    </Row>
  );
}

function toneOf({ exit, open }: Destination): Tone {
  if (isOutside(exit)) return "partly";
  return open ? "protected" : "blocked";
}

function questionAbout(to: string, { whose, who }: Audience): Question {
  return {
    title: say("Let the traffic to {to} leave outside every tunnel?", { to }),
    text: say(
      "Your internet provider and the other side see it as they would without a VPN, for {whose, select, all {all devices} other {{who}}}. Whatever else has the same addresses leaves there too.",
      { whose, who },
    ),
    confirm: say("Let it leave directly"),
  };
}
