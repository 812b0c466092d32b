/** Stands for what is not shown. */
export const MASK = '•••••';

/**
 * Whether a key of this name holds a secret, whatever its value looks like. Letters, digits and Chinese characters
 * count, case and width do not: `api_key`, `X-Api-Key` and `apiKey` are one name.
 */
export function namesSecret(key: string): boolean {
  const name = key
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9\u4e00-\u9fff]/g, '');
  return SECRET_NAME.test(name);
}

const SECRET_NAME = new RegExp(
  [
    'passw(?:or)?d|passphrase|api_?key|privatekey|authorization|密码|口令|密钥|私钥|令牌',
    '(?:secret|token|credentials?|cookie|(?:access|secret|signing|encryption|session|shared)key)$',
    '^(?:pwd|pin|otp|cvv2?|cvc2?|pan|(?:credit|bank)?card(?:number|no)|mnemonic|seedphrase|jwt)$',
  ].join('|'),
);

/**
 * The text with everything in it that is shaped like a secret masked: private keys, `Authorization` values, tokens of
 * well-known services, JWTs, passwords in addresses and in `password=…`. Linear in the text's length.
 */
export function maskSecrets(text: string): string {
  return SECRETS.reduce((masked, [shape, shown]) => masked.replace(shape, shown), text);
}

/** The same for numbers of payment cards: of a known network, of its length, and with the right check digit. */
export function maskCardNumbers(text: string): string {
  return text.replace(DIGIT_RUNS, (run) => (isCardNumber(run.replace(/[ -]/g, '')) ? MASK : run));
}

const SECRETS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|$)/g, MASK],
  // With a digit or a padding sign in it: "a basic understanding" is no password.
  [/\b(Bearer|Basic)(\s{1,10})(?=[A-Za-z._~+/-]{0,200}[0-9=])[A-Za-z0-9._~+/=-]{8,}/gi, `$1$2${MASK}`],
  [/\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g, MASK],
  [/\b(?:sk|pk|rk)[-_](?:live_|test_|proj-|ant-)?[A-Za-z0-9_-]{16,}/g, MASK],
  [/\b(?:gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-)[A-Za-z0-9_-]{10,}/g, MASK],
  [/\b(?:AKIA|ASIA|LTAI)[A-Za-z0-9]{12,}\b|\bAIza[A-Za-z0-9_-]{30,}/g, MASK],
  [/(\/\/[^\s/:@]{1,200}:)[^\s/@]{1,200}(?=@)/g, `$1${MASK}`],
  // Also in JSON that is a string in JSON, where each quote has backslashes before it.
  [
    /((?:password|passwd|passphrase|api[_-]?key|(?:access|auth|refresh)[_-]?token|(?<![a-z])(?:pwd|secret))\\{0,7}["']?\s{0,3}[:=]\s{0,3}\\{0,7}["']?)[^\s"'&,;\\]{4,}/gi,
    `$1${MASK}`,
  ],
  // A number of tokens is no secret, so this one has to look like a secret too.
  [
    /((?<![a-z])token\\{0,7}["']?\s{0,3}[:=]\s{0,3}\\{0,7}["']?)(?=[A-Za-z._~+/-]{0,200}\d)[\w.~+/=-]{12,}/gi,
    `$1${MASK}`,
  ],
  [
    /(--(?:password|passwd|passphrase|pwd|token|secret|api-?key)\s{1,3}["']?)[^\s"'-][^\s"']{3,}/gi,
    `$1${MASK}`,
  ],
  [/((?:密码|口令|密钥|令牌)[为是]?\s{0,3}[:=：＝]\s{0,3}["'“]?)[!-~]{4,}/g, `$1${MASK}`],
];

const DIGIT_RUNS = /(?<![\d.])\d(?:[ -]?\d){12,18}(?!\.?\d)/g;

/** Prefix and lengths of the networks (ISO/IEC 7812); the check digit alone would catch one number in ten. */
const NETWORKS: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720))/, [16]],
  [/^3[47]/, [15]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:6011|64[4-9]|65)/, [16]],
  [/^35(?:2[89]|[3-8]\d)/, [16]],
  [/^3(?:0[0-5]|[689])/, [14]],
];

function isCardNumber(digits: string): boolean {
  const known = NETWORKS.some(([prefix, lengths]) => prefix.test(digits) && lengths.includes(digits.length));
  if (!known) return false;
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
