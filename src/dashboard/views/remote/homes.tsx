import { useState } from "preact/hooks";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { useFresh } from "../../fresh.ts";
import { say } from "../../language.ts";
import { FormButton } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { List, Ready } from "../../parts/list.tsx";
import { HomeRow } from "./home-row.tsx";

/** Other homes with a Portcullis: those that are linked, and how another one is. */
export function Homes({ isOn }: { isOn: boolean }) {
  const links = useAnswer("links");
  const [opened, setOpened] = useState<"begin" | "take" | null>(null);
  const known = knownOf(links)?.links ?? [];
  const close = () => setOpened(null);
  useFresh(
    "links",
    known.some(({ public_key }) => public_key !== null),
  );
  if (!isOn && known.length === 0) return null;
  return (
    <section class="card words">
      <h2>{say("Another home")}</h2>
      <p class="quiet">
        {say(
          "Two homes with a Portcullis each reach the devices that each has allowed, and nothing else. Begin the link in the home by which the other should be able to leave.",
        )}
      </p>
      <Ready of={links}>
        {(value) => <List of={value.links}>{(link) => <HomeRow key={link.name} link={link} />}</List>}
      </Ready>
      {isOn && (
        <div class="card-buttons">
          <FormButton open={() => setOpened("begin")}>{say("Begin a link…")}</FormButton>
          <FormButton open={() => setOpened("take")}>{say("Take a code…")}</FormButton>
        </div>
      )}
      {opened === "begin" && <Begin onClose={close} />}
      {opened === "take" && <Take onClose={close} />}
    </section>
  );
}

/** The code is then in the row of the link, until the other home has called. */
function Begin({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={say("Begin a link")} onClose={onClose}>
      <Form
        of="link"
        rows={{
          name: {
            label: say("Name"),
            hint: say("What the other home is called here, such as parents."),
            required: true,
          },
        }}
        work={async ({ name }) => {
          await change("POST", "links", { name });
          onClose();
        }}
        submit={say("Make the code")}
        doing={say("Adding…")}
      />
    </Dialog>
  );
}

/** Takes the first code, whose answer is then in the row, or an answer. */
function Take({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={say("Take a code")} onClose={onClose}>
      <Form
        of="link"
        rows={{
          code: { label: say("Code"), hint: say("The code of the other home, or its answer to yours.") },
          name: {
            label: say("Name"),
            hint: say(
              "If it is empty, the other home has the name that its gateway has. An answer needs none.",
            ),
          },
        }}
        work={async ({ code, name }) => {
          await change("POST", "links/take", { code, name });
          onClose();
        }}
        submit={say("Take the code")}
        doing={say("Adding…")}
      />
    </Dialog>
  );
}
