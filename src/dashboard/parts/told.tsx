import { shown } from "../language.ts";

/** A text of the page. After its first line it is the gateway's own, in English: see `codes.ts`. */
export function Told({ text }: { text: string }) {
  const [own = "", ...its] = shown === "en" ? [text] : text.split("\n");
  if (its.length === 0) return <>{own}</>;
  return (
    <>
      {own}{" "}
      <span class="small" lang="en">
        {its.join("\n")}
      </span>
    </>
  );
}
