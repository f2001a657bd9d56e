import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { say } from "../language.ts";

/** What cannot be drawn takes only itself away: the gateway may be of a newer version than this page. */
export function Guard({ children }: { children: ComponentChildren }) {
  const [error] = useErrorBoundary((cause) => console.error(cause));
  if (error === undefined) return <>{children}</>;
  return (
    <section class="card words" role="alert">
      <h1>{say("This cannot be shown")}</h1>
      <p>{say("The gateway may have been upgraded since this page was loaded.")}</p>
      <button type="button" class="button primary" onClick={() => location.reload()}>
        {say("Reload the page")}
      </button>
    </section>
  );
}
