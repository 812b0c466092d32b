import type { Locale } from '../locale.ts';
import { CONSOLE_TEXTS } from './console-texts.ts';
import { html } from './html.ts';
import { page } from './layout.ts';

/** The form that asks for a person's key; `error` says why it is shown again. */
export function signInPage({
  locale,
  path,
  error,
}: {
  readonly locale: Locale;
  readonly path: string;
  readonly error: string | null;
}): string {
  const texts = CONSOLE_TEXTS[locale];
  return page(
    { locale, path, title: texts.signIn, signedInAs: null },
    html`<section>
<h1>${texts.signIn}</h1>
<p>${texts.signInAbout}</p>
${error !== null && html`<p class="error" role="alert">${error}</p>`}
<form method="post" action="${path}/sign-in?lang=${locale}">
<label for="key">${texts.key}</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus>
<button>${texts.signIn}</button>
</form>
<p class="soft">${texts.noKey}</p>
</section>`,
  );
}
