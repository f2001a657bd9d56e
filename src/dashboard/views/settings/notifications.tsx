import type { ShownTarget, TestResults } from "../../../notifications/schema.ts";
import { type Action, useAction } from "../../action.ts";
import { useAnswer } from "../../answers.ts";
import { change, pathOf } from "../../api.ts";
import { rowFaultText } from "../../codes.ts";
import { loadErrors, say } from "../../language.ts";
import { Button, Outcome } from "../../parts/button.tsx";
import { Form } from "../../parts/form.tsx";
import { List, Ready } from "../../parts/list.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { Remove, Row } from "../../parts/row.tsx";

/** Where messages go when the protection was altered, or a tunnel was down. */
export function Notifications() {
  const list = useAnswer("notifications");
  // It outlives the address that it is about.
  const action = useAction();
  return (
    <section class="card words">
      <h2>{say("Notifications")}</h2>
      <p class="quiet">
        {say(
          "The gateway sends a message when the protection was altered, or when a tunnel was down for more than a minute: to your phone by ntfy or Gotify, or to a program that takes JSON.",
        )}
      </p>
      <Outcome of={action} />
      <Ready of={list}>
        {({ targets }) => (
          <>
            <List of={targets}>
              {(target) => <TargetRow key={target.name ?? target.target} of={target} action={action} />}
            </List>
            {targets.length > 0 && <Test />}
          </>
        )}
      </Ready>
      <Add />
    </section>
  );
}

function TargetRow({ of: shown, action }: { of: ShownTarget; action: Action }) {
  const { name, target, waiting } = shown;
  const place = name === null ? say("Set on the gateway with --notify, and changed there") : target;
  const unsent =
    waiting > 0 &&
    say("{count, plural, one {# message} other {# messages}} not sent yet", { count: waiting });
  return (
    <Row
      name={name ?? target}
      facts={[[place, unsent].filter(Boolean).join(" · ")]}
      fault={shown}
      actions={
        name !== null && (
          <Remove
            action={action}
            label={say("Remove {name} from the notifications", { name })}
            work={async () => {
              await change("DELETE", pathOf("notifications", name));
              return say("{name} gets no more messages.", { name });
            }}
            title={say("Send no more messages to {name}?", { name })}
            text={say(
              "Messages that are still waiting are not sent any more. To send there again, you need the address.",
            )}
          />
        )
      }
    />
  );
}

function Test() {
  const test = async () => {
    const { targets } = await change<TestResults>("POST", "notifications/test");
    const failed = targets.filter(({ sent }) => !sent);
    await loadErrors();
    const faults = failed.map((each) => `${each.target}: ${rowFaultText(each)}`);
    if (failed.length > 0) throw new Error(faults.join(" "));
    return say(
      "{count, plural, one {# message} other {# messages}} sent. If none arrives, look at the app’s own settings.",
      { count: targets.length },
    );
  };
  return (
    <div class="card-buttons">
      <Button doing={say("Sending…")} work={test}>
        {say("Send a test message")}
      </Button>
    </div>
  );
}

/** The address is sent once, and never shown again. */
function Add() {
  return (
    <OnDemand text={say("Add an address…")}>
      <Form
        of="notification"
        rows={{
          name: { label: say("Name"), hint: say("The name it should have here, such as phone.") },
          address: {
            label: say("Address"),
            hint: say(
              "ntfy://ntfy.sh/your-topic, ntfy://:token@host/topic, gotify://host/token, or an https address. Whoever knows it can read your messages or write to you, so it is not shown again.",
            ),
          },
        }}
        work={async (given) => {
          await change("POST", "notifications", given);
          return say("Added. Send a test message to see whether it arrives.");
        }}
        submit={say("Add")}
        doing={say("Adding…")}
      />
    </OnDemand>
  );
}
