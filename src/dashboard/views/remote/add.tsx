import { useState } from "preact/hooks";
import { clientFile, type Reach } from "../../../remote/client-file.ts";
import type { AddedRemoteDevice } from "../../../remote/schema.ts";
import { MAX_NAME_CHARACTERS } from "../../../shared/bounds.ts";
import { isOutside } from "../../../shared/exits.ts";
import { generateKeyPair } from "../../../wireguard/key.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { defaultText } from "../../parts/device-exit.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { useFields } from "../../parts/fields.ts";
import { Field, Form, Select } from "../../parts/form.tsx";
import type { Option } from "../../parts/options.tsx";
import { useExits } from "../../protection.ts";
import { Invitation, type Invited } from "./invitation.tsx";

/** What a new device reaches through home. */
type Choice = "all" | "internet" | "home";

const CHOICES: readonly Option<Choice>[] = [
  { value: "all", text: say("Home and the internet") },
  { value: "internet", text: say("Only the internet") },
  { value: "home", text: say("Only home: it reaches the internet through whatever network it is on") },
];

/** Asks for a name, then shows the code. What it shows is gone when it is closed. */
export function Add({ onClose }: { onClose: () => void }) {
  const [invited, setInvited] = useState<Invited | null>(null);
  const [choice, setChoice] = useState<Choice>("all");
  const { texts, faults, bind } = useFields({ name: "", exit: "" });
  const list = knownOf(useAnswer("devices"));
  const hasLan = knownOf(useAnswer("network"))?.lan.some(({ prefixes }) => prefixes.length > 0) === true;
  const exitOf = useExits();
  const add = async () => {
    const lan = choice !== "internet";
    const { name, exit } = texts;
    const request = { name: name.trim(), lan, ...(exit !== "" && { exit }) };
    setInvited(await invite(request, choice === "home" ? "home" : "everything"));
  };
  if (invited !== null) return <Invitation of={invited} onClose={onClose} />;
  const exits = list?.exits.filter((each) => !isOutside(each)) ?? [];
  return (
    <Dialog title={say("Add a device")} onClose={onClose}>
      <Form faults={faults} work={add} submit={say("Show the code")} doing={say("Adding…")}>
        <Field
          label={say("Name")}
          hint={say("The name it should have in the list, such as phone.")}
          maxLength={MAX_NAME_CHARACTERS}
          required
          {...bind("name")}
        />
        <Select
          label={say("Exit")}
          hint={say("The tunnel through which it reaches the internet.")}
          {...bind("exit")}
          options={[
            { value: "", text: list === null ? say("default") : defaultText(exitOf(list.default_exit)) },
            ...exits.map((each) => ({ value: each, text: exitOf(each).text })),
          ]}
        />
        <Select
          label={say("What it reaches by the gateway")}
          value={choice}
          onValue={setChoice}
          options={hasLan ? CHOICES : CHOICES.filter(({ value }) => value !== "home")}
        />
      </Form>
    </Dialog>
  );
}

/** The keys are made here; the gateway gets the public one, and nothing keeps the private one. */
async function invite(request: object, reach: Reach): Promise<Invited> {
  const { privateKey, publicKey } = generateKeyPair();
  const body = { ...request, public_key: publicKey };
  const added = await change<AddedRemoteDevice>("POST", "remote/devices", body);
  return { name: added.name, file: clientFile(added, privateKey, reach) };
}
