//! Implements a list that grows without moving its items.

/// Bytes of a piece. Pieces of this size are allocated from the kernel and returned to it when they
/// are freed (glibc does this from 32 MiB on).
const BYTES: usize = 36 << 20;

/// Items in order, in pieces of equal length except the last one.
pub struct Pieces<T> {
    pieces: Vec<Vec<T>>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Self {
        Pieces { pieces: Vec::new() }
    }
}

impl<T> Pieces<T> {
    const LENGTH: usize = BYTES / size_of::<T>();

    #[inline]
    pub fn push(&mut self, item: T) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < Self::LENGTH => last.push(item),
            Some(_) => self.grow(Vec::with_capacity(Self::LENGTH), item),
            // Most lists stay short, so the first piece is not allocated at full length.
            None => self.grow(Vec::new(), item),
        }
    }

    #[cold]
    fn grow(&mut self, mut piece: Vec<T>, item: T) {
        piece.push(item);
        self.pieces.push(piece);
    }

    pub fn extend(&mut self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.push(item));
    }

    pub fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * Self::LENGTH + last.len())
    }

    /// Returns the items from number `from` on.
    pub fn since(&self, from: usize) -> impl Iterator<Item = &T> {
        let (whole, rest) = (from / Self::LENGTH, from % Self::LENGTH);
        self.pieces
            .iter()
            .enumerate()
            .skip(whole)
            .flat_map(move |(number, piece)| &piece[if number == whole { rest } else { 0 }..])
    }

    /// Returns the pieces in order.
    pub fn into_pieces(self) -> impl Iterator<Item = Vec<T>> {
        self.pieces.into_iter()
    }

    /// Returns the items of all lists, one after the other. Each piece is freed as soon as its
    /// items have been moved.
    pub fn join(lists: impl IntoIterator<Item = Pieces<T>>) -> Vec<T> {
        let mut pieces: Vec<Vec<T>> = lists.into_iter().flat_map(|list| list.pieces).collect();
        if pieces.len() <= 1 {
            return pieces.pop().unwrap_or_default();
        }
        let mut all = Vec::with_capacity(pieces.iter().map(Vec::len).sum());
        pieces.into_iter().for_each(|piece| all.extend(piece));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_there_in_order() {
        let mut lists = [Pieces::<[u64; 4096]>::default(), Pieces::default()];
        let most = 3 * Pieces::<[u64; 4096]>::LENGTH as u64;
        lists[0].extend((0..most).map(|number| [number; 4096]));
        lists[1].push([most; 4096]);
        assert_eq!(lists[0].pieces.len(), 3);
        for from in [0, 5, most / 3, most / 3 + 1, most - 1, most] {
            assert!(lists[0].since(from as usize).map(|item| item[0]).eq(from..most));
        }
        assert_eq!(
            (lists[0].len() as u64, lists[1].len(), lists[1].since(0).count()),
            (most, 1, 1)
        );
        let all = Pieces::join(lists);
        assert!(all.iter().map(|item| item[0]).eq(0..=most));
        assert!(Pieces::<u8>::join([]).is_empty());
    }
}
