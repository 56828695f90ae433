import { encode } from 'uqr';

/** The largest code holds 2,331 bytes of an ASCII text such as a URI. */
const maxLength = 2_000;

/**
 * A QR code, dark on light in every theme; nothing when the text is too long for one. Drawn here: a
 * secret must not go to another site to become an image.
 */
export function QrCode({ text, label }: { text: string; label: string }) {
  if (text.length > maxLength) return null;
  // Readers need four quiet modules around a code.
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
      className="size-48 rounded-md border"
    >
      <path d={`M0 0h${size}v${size}H0z`} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}
