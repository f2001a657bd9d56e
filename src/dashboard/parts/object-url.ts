import { useEffect, useState } from "preact/hooks";

/** An address of the browser's own for the text, which has nothing of the text and ends with what shows it. */
export function useObjectUrl(text: string): string | null {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [text]);
  return url;
}
