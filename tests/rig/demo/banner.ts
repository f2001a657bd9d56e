import type { LanguageCode } from "../../../src/shared/languages.ts";

/** What stands above the page, and what a change is refused with. */
export const BANNER: Readonly<Record<LanguageCode, string>> = {
  en: "A demonstration: recorded answers of one home. Nothing you do here changes anything.",
  de: "Eine Vorführung: aufgezeichnete Antworten eines Zuhauses. Nichts, was Sie hier tun, ändert etwas.",
  es: "Una demostración: respuestas grabadas de un hogar. Nada de lo que haga aquí cambia nada.",
  fr: "Une démonstration : réponses enregistrées d’un foyer. Rien de ce que vous faites ici ne change quoi que ce soit.",
  pt: "Uma demonstração: respostas gravadas de uma casa. Nada do que você faz aqui muda alguma coisa.",
  ru: "Демонстрация: записанные ответы одного дома. Ничто из того, что вы здесь делаете, ничего не меняет.",
  zh: "这是演示：内容是一个家庭的录制应答。您在此处的任何操作都不会改变任何东西。",
};

/** All languages stand there, and the style shows that of the page, which a person may change. */
export const BANNER_HTML = `<aside class="demonstration">${Object.entries(BANNER)
  .map(([code, text]) => `<span lang="${code}">${text}</span>`)
  .join("")}</aside>`;

export const BANNER_STYLE = `
.demonstration {
  padding: var(--space-2) var(--space-4);
  background: var(--partly-ground);
  color: var(--text);
  text-align: center;
}
.demonstration span { display: none; }
${Object.keys(BANNER)
  .map((code) => `:root:lang(${code}) .demonstration :lang(${code})`)
  .join(",\n")} { display: inline; }
`;
