import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { AuditReader } from '../audit/audit-reader.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { createArgumentMask } from '../confirmation/argument-mask.ts';
import type { ConfirmationService } from '../confirmation/confirmation-service.ts';
import { followedWordsOf } from '../confirmation/followed-fact.ts';
import { type Freezes, freezeOf } from '../confirmation/freeze.ts';
import { authenticate } from '../http/authentication.ts';
import type { Authenticator } from '../http/authenticator.ts';
import type { FailedProofs } from '../http/failed-proofs.ts';
import type { HttpApp } from '../http/http-app.ts';
import type { PersonPrincipal } from '../http/principal.ts';
import type { Visibility } from '../http/visibility.ts';
import { type ChannelId, parseConfirmationId } from '../ids.ts';
import type { Locale, LocalizedText } from '../locale.ts';
import { CONSOLE_TEXTS } from './console-texts.ts';
import { HOME_LINKS, homePage } from './home-page.ts';
import { html } from './html.ts';
import { page, steppingStone } from './layout.ts';
import { pageLocale } from './page-locale.ts';
import { requestPage } from './request-page.ts';
import { isFromElsewhere, isSameOrigin } from './same-origin.ts';
import { createSessions, type Sessions } from './sessions.ts';
import { settleOnPage } from './settle-on-page.ts';
import { signInPage } from './sign-in-page.ts';
import { STYLE } from './style.ts';

export interface ConsolePorts {
  readonly config: Config;
  readonly confirmations: Pick<ConfirmationService, 'get' | 'deliveriesOf' | 'settle'>;
  readonly freezes: Pick<Freezes, 'active'>;
  readonly audit: Pick<AuditReader, 'list'>;
  readonly authenticator: Authenticator;
  readonly visibility: Visibility;
  readonly failedSignIns: FailedProofs;
  /** What an operator does about a card that a channel could not deliver; null where there is nothing to say. */
  readonly adviceOn: (channel: ChannelId, error: string) => LocalizedText | null;
  readonly clock: Clock;
}

/** Events of one request that the page shows; no request has that many but by attack. */
const MOST_EVENTS = 200;

/** The longest detail, nine bytes a character: as forms encode Chinese. */
const LARGEST_SETTLEMENT_BYTES = 32 * 1024;

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/**
 * `GET /requests/{id}`: the page that cards link to, for a person signed in with their own key, or sending it; there an
 * approver may say what became of a call of unknown outcome. `GET /` says where that is.
 */
export function consoleRoutes(app: HttpApp, ports: ConsolePorts): void {
  const { config } = ports;
  const https = config.publicUrl?.startsWith('https:') ?? false;
  const sessions = createSessions({ people: config.people, clock: ports.clock, https });
  acceptForms(app);
  app.addHook('onSend', async (_request, reply) => {
    reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
  });

  app.get('/console.css', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('text/css; charset=utf-8').header('cache-control', 'max-age=3600').send(STYLE),
  );

  app.get('/', { schema: { hide: true } }, async (request, reply) => {
    reply.header('vary', 'accept, accept-language');
    return acceptsHtml(request) ? send(reply, 200, homePage(localeOf(request, config))) : HOME_LINKS;
  });

  const schema = { hide: true, params: z.object({ id: z.string() }) };

  app.get('/requests/:id', { schema }, async (request, reply) => {
    const visit = visitOf(request, request.params.id, config);
    if (!visit) return showMissing(request, reply, config);
    const viewer = sessions.personOf(request.headers.cookie) ?? (await personByKey(request, ports));
    if (viewer) return showRequest(reply, visit, viewer, { ...ports, refused: null });
    if (isFromElsewhere(request)) return send(reply, 200, steppingStone(visit));
    return send(reply, 401, signInPage({ ...visit, error: null }));
  });

  app.post('/requests/:id/sign-in', { schema }, async (request, reply) => {
    const visit = visitOf(request, request.params.id, config);
    if (!visit) return showMissing(request, reply, config);
    const result = await signIn(request, visit.locale, sessions, ports);
    if (result.kind === 'refused') {
      return send(reply, result.status, signInPage({ ...visit, error: result.message }));
    }
    return reply.header('set-cookie', result.cookie).redirect(`${visit.path}?lang=${visit.locale}`, 303);
  });

  const settlement = { schema, bodyLimit: LARGEST_SETTLEMENT_BYTES };
  app.post('/requests/:id/settlement', settlement, async (request, reply) => {
    const visit = visitOf(request, request.params.id, config);
    if (!visit) return showMissing(request, reply, config);
    const viewer = sessions.personOf(request.headers.cookie);
    if (!viewer) return send(reply, 401, signInPage({ ...visit, error: null }));
    const refused = await settleFrom(request, visit, viewer, ports);
    return refused === null
      ? reply.redirect(`${visit.path}?lang=${visit.locale}`, 303)
      : showRequest(reply, visit, viewer, { ...ports, refused });
  });

  app.post('/requests/:id/sign-out', { schema }, async (request, reply) => {
    const visit = visitOf(request, request.params.id, config);
    if (!visit) return showMissing(request, reply, config);
    if (isSameOrigin(request, config.publicUrl)) reply.header('set-cookie', sessions.clear);
    return reply.redirect(`${visit.path}?lang=${visit.locale}`, 303);
  });
}

/** Browsers say so; what takes anything, as programs do, gets JSON. */
const acceptsHtml = ({ headers }: FastifyRequest): boolean => /\btext\/html\b/.test(headers.accept ?? '');

/** The API's own way of saying who asks, for whoever reads the page with a program. */
async function personByKey(request: FastifyRequest, ports: ConsolePorts): Promise<PersonPrincipal | null> {
  if (request.headers.authorization === undefined) return null;
  if ((await ports.failedSignIns.verdict(request)).limited) return null;
  const principal = authenticate(request, ports.authenticator);
  if (!principal) await ports.failedSignIns.count(request);
  return principal?.type === 'person' ? principal : null;
}

type Visit = NonNullable<ReturnType<typeof visitOf>>;

/** Null: the address holds no id. Only a checked id ever becomes part of a path on the page. */
function visitOf(request: FastifyRequest, idText: string, config: Config) {
  const id = parseConfirmationId(idText);
  return id && { id, path: `/requests/${id}`, locale: localeOf(request, config) };
}

function localeOf(request: FastifyRequest, config: Config): Locale {
  const { lang } = z.object({ lang: z.string().optional().catch(undefined) }).parse(request.query);
  return pageLocale({
    asked: lang,
    acceptLanguage: request.headers['accept-language'],
    fallback: config.locale,
  });
}

interface Refused {
  readonly status: number;
  readonly message: string;
}

/** What the person is told whose word was not taken; null where it was. */
async function settleFrom(
  request: FastifyRequest,
  { id, locale }: Visit,
  viewer: PersonPrincipal,
  { config, confirmations, visibility }: ConsolePorts,
): Promise<Refused | null> {
  if (!isSameOrigin(request, config.publicUrl)) {
    return { status: 403, message: CONSOLE_TEXTS[locale].otherOrigin };
  }
  const found = await confirmations.get(id);
  // Who may not see it is not told whether it is there: the page says the same of both.
  if (!found || !(await visibility.ofConfirmation(viewer, found))) return { status: 404, message: '' };
  const { timeZone } = config;
  const said = await settleOnPage(formOf(request), { id, viewer }, { confirmations, locale, timeZone });
  return said.kind === 'settled' ? null : said;
}

async function showRequest(
  reply: FastifyReply,
  { id, path, locale }: Visit,
  viewer: PersonPrincipal,
  {
    refused,
    config,
    confirmations,
    freezes,
    visibility,
    audit,
    adviceOn,
  }: ConsolePorts & {
    readonly refused: Refused | null;
  },
): Promise<FastifyReply> {
  const request = await confirmations.get(id);
  if (!request || !(await visibility.ofConfirmation(viewer, request))) {
    return send(reply, 404, missingPage(locale, path, viewer.person.name));
  }
  const [deliveries, frozen, record, seesFollowed] = await Promise.all([
    confirmations.deliveriesOf([id]),
    freezes.active(),
    audit.list({ confirmation: id, limit: MOST_EVENTS }),
    visibility.ofFollowed(viewer, [request]),
  ]);
  const shown = requestPage({
    request,
    freeze: freezeOf(request, frozen),
    deliveries: deliveries.get(id) ?? [],
    adviceOn,
    record,
    followedWords: seesFollowed.size > 0 ? 'all' : followedWordsOf(request),
    viewer: viewer.person,
    locale,
    timeZone: config.timeZone,
    publicUrl: config.publicUrl ?? '',
    mask: createArgumentMask(config.masked),
    path,
    refusal: refused?.message ?? null,
  });
  return send(reply, refused?.status ?? 200, shown);
}

type SignIn =
  | { readonly kind: 'signed-in'; readonly cookie: string }
  | { readonly kind: 'refused'; readonly status: number; readonly message: string };

async function signIn(
  request: FastifyRequest,
  locale: Locale,
  sessions: Sessions,
  { config, authenticator, failedSignIns }: ConsolePorts,
): Promise<SignIn> {
  const texts = CONSOLE_TEXTS[locale];
  const refuse = (status: number, message: string): SignIn => ({ kind: 'refused', status, message });
  if (!isSameOrigin(request, config.publicUrl)) return refuse(403, texts.otherOrigin);
  const verdict = await failedSignIns.verdict(request);
  if (verdict.limited) return refuse(429, texts.tooMany(verdict.retryAfterSeconds));

  const principal = authenticator.principalOf((formOf(request).get('key') ?? '').trim());
  if (!principal) {
    await failedSignIns.count(request);
    return refuse(401, texts.wrongKey);
  }
  if (principal.type === 'key') return refuse(403, texts.notAPerson);
  const cookie = sessions.issue(principal);
  return cookie === null ? refuse(403, texts.inactive) : { kind: 'signed-in', cookie };
}

const formOf = ({ body }: FastifyRequest): URLSearchParams =>
  body instanceof URLSearchParams ? body : new URLSearchParams();

const showMissing = (request: FastifyRequest, reply: FastifyReply, config: Config): FastifyReply =>
  send(reply, 404, missingPage(localeOf(request, config), '/requests', null));

const missingPage = (locale: Locale, path: string, signedInAs: string | null): string =>
  page(
    { locale, path, title: CONSOLE_TEXTS[locale].title, signedInAs },
    html`<section><p>${CONSOLE_TEXTS[locale].notFound}</p></section>`,
  );

const send = (reply: FastifyReply, status: number, markup: string): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').header('cache-control', 'no-store').send(markup);

/** Forms of our own pages only: small, and nothing but fields. */
function acceptForms(app: HttpApp): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 4096 },
    async (_request: FastifyRequest, body: string) => new URLSearchParams(body),
  );
}
