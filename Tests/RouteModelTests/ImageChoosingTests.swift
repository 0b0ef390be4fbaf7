import RouteModel
import Testing

@Suite("Choice of images")
struct ImageChoosingTests {
    private let small = MediaImage(url: "http://h/small", width: 300, height: 300)
    private let large = MediaImage(url: "http://h/large", width: 1200, height: 1200)
    private let wide = MediaImage(url: "http://h/wide", width: 1920, height: 1080, role: .background)
    private let unsized = MediaImage(url: "http://h/thumb", role: .thumbnail)

    private func chosen(
        _ chooser: any ImageChoosing, _ use: ImageUse, _ side: Int, _ images: [MediaImage]
    ) -> String? {
        chooser.image(
            for: use, size: ImageSize(width: side, height: side), of: MediaMetadata(images: images))?.url
    }

    @Test("C18 the default is the first image, for every use", arguments: ImageUse.allCases)
    func first(_ use: ImageUse) {
        #expect(chosen(FirstImage(), use, 50, [large, small]) == large.url)
        #expect(chosen(FirstImage(), use, 50, []) == nil)
    }

    @Test("C18 by size: the smallest that fills, else the largest")
    func fitting() {
        let all = [large, small, wide, unsized]
        #expect(chosen(FittingImage(), .mini, 100, all) == small.url)
        #expect(chosen(FittingImage(), .mini, 300, [large, small]) == small.url)
        #expect(chosen(FittingImage(), .mini, 301, all) == unsized.url)
        #expect(chosen(FittingImage(), .picker, 400, [large, small]) == large.url)
        #expect(chosen(FittingImage(), .picker, 5000, [small, large]) == large.url)
        #expect(chosen(FittingImage(), .mini, 100, []) == nil)
    }

    @Test("C18 by use: a background only where it fills a page")
    func uses() {
        #expect(chosen(FittingImage(), .expanded, 1080, [large, wide]) == large.url)
        #expect(chosen(FittingImage(), .mini, 1300, [large, wide]) == large.url)
        #expect(chosen(FittingImage(), .mini, 100, [wide]) == wide.url)
    }

    @Test("C18 a caller's own chooser may answer with other addresses")
    func replaced() {
        struct Resizing: ImageChoosing {
            func image(for use: ImageUse, size: ImageSize, of metadata: MediaMetadata) -> MediaImage? {
                metadata.images.first.map { MediaImage(url: "\($0.url)?w=\(size.width)") }
            }
        }
        #expect(chosen(Resizing(), .mini, 64, [large]) == "http://h/large?w=64")
    }
}
