import { useState } from "preact/hooks";
import { clientFile, type Reach } from "../../../remote/client-file.ts";
import type { AddedRemoteDevice } from "../../../remote/schema.ts";
import { isOutside } from "../../../shared/exits.ts";
import { generateKeyPair } from "../../../wireguard/key.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { say } from "../../language.ts";
import { defaultText } from "../../parts/device-exit.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import type { Option } from "../../parts/option.ts";
import { useExitOptions, useExits } from "../../protection.ts";
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
  const list = knownOf(useAnswer("devices"));
  const hasLan = knownOf(useAnswer("network"))?.lan.some(({ prefixes }) => prefixes.length > 0) === true;
  const exitOf = useExits();
  const optionsOf = useExitOptions();
  if (invited !== null) return <Invitation of={invited} onClose={onClose} />;
  return (
    <Dialog title={say("Add a device")} onClose={onClose}>
      <Form<"remoteDevice", "choice">
        of="remoteDevice"
        rows={{
          name: { label: say("Name"), hint: say("The name it should have in the list, such as phone.") },
          exit: {
            label: say("Exit"),
            hint: say("The tunnel through which it reaches the internet."),
            options: [
              { value: "", text: list === null ? say("default") : defaultText(exitOf(list.default_exit)) },
              ...optionsOf(list?.exits.filter((each) => !isOutside(each)) ?? []),
            ],
          },
          choice: {
            label: say("What it reaches by the gateway"),
            options: hasLan ? CHOICES : CHOICES.filter(({ value }) => value !== "home"),
          },
        }}
        work={async ({ choice, ...device }) => {
          const reach = choice === "home" ? "home" : "everything";
          setInvited(await invite({ ...device, lan: choice !== "internet" }, reach));
        }}
        submit={say("Show the code")}
        doing={say("Adding…")}
      />
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
