import { qrCode } from './qr.ts';

/** Quiet modules around a code, which readers need. */
const margin = 4;

/** A QR code, dark on light in every theme; nothing when the text is too long for one. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const rows = qrCode(text);
  if (rows === null) return null;
  const size = rows.length + 2 * margin;
  const path = rows
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + margin} ${y + margin}h1v1h-1z` : '')))
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
